// What must hold of the objects that a frame finds, for what was captured of it to be right.
//   Guards guards;
//   guards.add(source, TypeIs::of(value));
//   if (!guards.check(frame)) say(guards.explain_failure(frame));   // "self: the type is B, was A"
//
// check() is noexcept, allocates nothing and runs no Python. Guards own nothing that owns code:
// objects are kept by weak references, types by their version.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "torchdyn/guards/source.h"

namespace torchdyn {

struct TypeIs {
  PyTypeObject* type;
  unsigned version;

  static std::optional<TypeIs> of_type(PyTypeObject* type);
  static std::optional<TypeIs> of(PyBorrow value);  // none: CPython keeps no version of the type
  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct IsType {
  TypeIs type;

  static std::optional<IsType> of(PyBorrow type);
  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct Same {
  PyBorrow object;             // borrowed: it is alive as long as its weak reference says
  PyRef weak;                  // null: a member of an enum, alive as long as its type
  std::optional<TypeIs> type;  // of such a member

  static std::optional<Same> of(PyBorrow value);  // none: it takes no weak references
  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct Absent {
  bool check(PyBorrow value) const noexcept { return !value; }
  std::string explain(PyBorrow value) const;
};

struct Equals {
  PyRef constant;  // is_plain_constant

  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct Length {
  Py_ssize_t length;  // of a tuple, list or dict

  bool check(PyBorrow value) const noexcept { return value && torchdyn::length(value) == length; }
  std::string explain(PyBorrow value) const;
};

struct Keys {
  PyRef keys;  // a tuple of str, in the order of an exact dict

  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct Alias {
  SourceRef other;
  bool is_same;

  bool check(PyBorrow value, const FrameView& frame) const noexcept {
    return (value == other->read(frame)) == is_same;
  }
  std::string explain(PyBorrow value) const;
};

using GuardKind = std::variant<TypeIs, IsType, Same, Absent, Length, Alias, Equals, Keys>;

class Guards {
 public:
  // One of a kind for a source: what is read twice is guarded once. Of aliases, one a pair.
  void add(SourceRef source, GuardKind kind);
  // To be called once, when all are there: cheap ones come first.
  void sort();

  bool check(const FrameView& frame) const noexcept;
  std::string explain_failure(const FrameView& frame) const;  // the first that fails; "": none
  std::vector<std::string> describe() const;

 private:
  struct Guard {
    SourceRef source;
    GuardKind kind;
  };
  std::vector<Guard> guards_;
};

}  // namespace torchdyn
