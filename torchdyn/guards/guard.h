// What must hold of one object that a frame finds, for what was captured of it to be right.
//   const auto guard = TypeIs::of(value);
//   if (!guard->check(other)) say(guard->explain(other));   // "the type is B, was A"
//
// check() is noexcept, allocates nothing and runs no Python. Guards own nothing that owns code:
// objects are kept by weak references, types by their version.
#pragma once

#include <optional>
#include <string>
#include <variant>

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

// Elements are constants, or objects that are told apart by identity.
struct Holds {
  PyRef constant;              // null: an object
  std::optional<Same> object;  // that one
  bool is_there;

  // None: the element is neither.
  static std::optional<Holds> of(PyBorrow set, PyBorrow element);
  PyBorrow element() const { return constant ? PyBorrow(constant) : object->object; }
  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct Keys {
  PyRef keys;  // a tuple of str, in the dict's order
  const PyTypeObject* type;

  bool check(PyBorrow value) const noexcept;
  std::string explain(PyBorrow value) const;
};

struct Alias {
  SourceRef other;
  bool is_same;
  int node = -1;  // of `other`, in the tree

  bool check(PyBorrow value, const FrameView& frame) const noexcept {
    return (value == other->read(frame)) == is_same;
  }
  std::string explain(PyBorrow value) const;
};

using GuardKind = std::variant<TypeIs, IsType, Same, Absent, Length, Alias, Equals, Holds, Keys>;

bool holds(const GuardKind& kind, PyBorrow value, const FrameView& frame) noexcept;
std::string explanation(const GuardKind& kind, PyBorrow value);
int cost(const GuardKind& kind);
const char* promise(const GuardKind& kind);
// Whether one of both says what the other does, of one value.
bool is_of_one_kind(const GuardKind& a, const GuardKind& b);

}  // namespace torchdyn
