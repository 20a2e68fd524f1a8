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
    kDict,          // the base's __dict__
    kMember,        // what the base's __dict__ has under that name
    kItem,          // base[name], of an exact dict or of contents
    kKeyed,         // base[object], of an exact dict and a constant
    kContents,      // the base, an object of a class that extends dict, as the dict that it is
    kElement,       // base[slot], of an exact tuple or list
    kTypeMember,    // what the base's type has under that name
    kClassMember,   // what the base, a type, has under that name
    kBaseMember,    // what the slot-th type has itself that the base, a type, is looked up in
    kSlotMember,    // what the base keeps in a place of its own, that __slots__ named
    kTypeOf,        // the base's type
    kUnwrapped,     // the function in a static method, class method or property
    kClassOrder,    // the types that the base, a type, is looked up in
    kSetter,        // the setter of a property
    kModule,        // what sys.modules has under that name
    kFixed,         // always that object, which lives as long as the process
    kContextValue,  // what the base, a ContextVar, has in this thread's context
    kPart,          // what the base, a Python function, consists of
    kCell,          // what is in the base, a cell
    kReferent,      // what the base, a weak reference, refers to; None: that is gone
  };

  static SourceRef local(int slot, std::string_view name);
  static SourceRef closure(int slot, std::string_view name);
  static SourceRef global(std::string_view name);
  static SourceRef builtin(std::string_view name);
  static SourceRef member(SourceRef base, std::string_view name);
  static SourceRef dict(SourceRef base);
  static SourceRef item(SourceRef base, std::string_view name);
  static SourceRef keyed(SourceRef base, PyBorrow key);
  static SourceRef contents(SourceRef base);
  static SourceRef element(SourceRef base, int index);
  static SourceRef type_member(SourceRef base, std::string_view name);
  static SourceRef class_member(SourceRef base, std::string_view name);
  static SourceRef base_member(SourceRef base, int index, std::string_view name);
  static SourceRef slot_member(SourceRef base, std::string_view name);
  static SourceRef type_of(SourceRef base);
  static SourceRef unwrapped(SourceRef base);
  static SourceRef class_order(SourceRef base);
  static SourceRef setter(SourceRef base);
  static SourceRef module(std::string_view name);
  static SourceRef fixed(PyBorrow object, std::string_view name);
  static SourceRef context_value(SourceRef base);
  static SourceRef part(SourceRef base, FunctionPart part);
  static SourceRef cell(SourceRef base);
  static SourceRef referent(SourceRef base);

  friend bool operator==(const Source& a, const Source& b);  // the same place

  PyBorrow read(const FrameView& frame) const noexcept;
  // What read() does last, where the base has been read already.
  PyBorrow read_from(PyBorrow base, const FrameView& frame) const noexcept;
  std::string text() const;

  Kind kind() const { return kind_; }
  int slot() const { return slot_; }
  PyBorrow name() const { return name_; }
  const SourceRef& base() const { return base_; }
  PyBorrow object() const { return object_; }  // of kFixed and kKeyed

  Source(Kind kind, SourceRef base, int slot, std::string_view name);

 private:
  Kind kind_;
  int slot_;
  SourceRef base_;
  PyRef name_;
  PyRef object_;
};

}  // namespace torchdyn
