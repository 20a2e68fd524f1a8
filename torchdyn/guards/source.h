// Where a value that capture has seen is found again when its frame begins once more.
//   SourceRef self = Source::local(0, "self");
//   SourceRef weight = Source::item(Source::member(self, "_parameters"), "weight");
//   weight->read(frame)                  // runs no Python; null where it is no more
//   weight->text()                       // "self._parameters['weight']"
#pragma once

#include <memory>
#include <string>

#include "torchdyn/cpython/abi.h"
#include "torchdyn/cpython/objects.h"

namespace torchdyn {

class Source;
using SourceRef = std::shared_ptr<const Source>;

class Source {
 public:
  enum class Kind : uint8_t {
    kLocal,    // a slot of the frame: an argument
    kClosure,  // what is in the cell of a free variable
    kGlobal,
    kBuiltin,
    kMember,      // what the base's __dict__ has under that name
    kItem,        // base[name], of an exact dict
    kElement,     // base[slot], of an exact tuple or list
    kTypeMember,  // what the base's type has under that name
    kPart,        // what the base, a Python function, consists of
    kCell,        // what is in the base, a cell
  };

  static SourceRef local(int slot, std::string_view name);
  static SourceRef closure(int slot, std::string_view name);
  static SourceRef global(std::string_view name);
  static SourceRef builtin(std::string_view name);
  static SourceRef member(SourceRef base, std::string_view name);
  static SourceRef item(SourceRef base, std::string_view name);
  static SourceRef element(SourceRef base, int index);
  static SourceRef type_member(SourceRef base, std::string_view name);
  static SourceRef part(SourceRef base, FunctionPart part);
  static SourceRef cell(SourceRef base);

  friend bool operator==(const Source& a, const Source& b);  // the same place

  PyBorrow read(const FrameView& frame) const noexcept;
  std::string text() const;

  Kind kind() const { return kind_; }
  int slot() const { return slot_; }
  PyBorrow name() const { return name_; }
  const SourceRef& base() const { return base_; }

  Source(Kind kind, SourceRef base, int slot, std::string_view name);

 private:
  Kind kind_;
  int slot_;
  SourceRef base_;
  PyRef name_;
};

}  // namespace torchdyn
