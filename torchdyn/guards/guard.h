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

#include "aten_bridge/base/hash_map.h"
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

  bool check(PyBorrow value, const FrameView& frame) const noexcept {
    return (value == other->read(frame)) == is_same;
  }
  std::string explain(PyBorrow value) const;
};

using GuardKind = std::variant<TypeIs, IsType, Same, Absent, Length, Alias, Equals, Holds, Keys>;

// A tree over sources: each is read once a check, from what it is read from. Of a dict that has not
// changed since all held, what was read of it is known, and only what may have changed in itself is
// looked at again.
class Guards {
 public:
  // One of a kind for a source: what is read twice is guarded once. Of aliases, one a pair.
  void add(const SourceRef& source, GuardKind kind);
  // A place whose value value() gives after a check that held.
  int place(const SourceRef& source);
  // To be called once, when all are there.
  void finish();

  // Holding the GIL: what was read is kept from one check to the next.
  bool check(const FrameView& frame) const noexcept;
  PyBorrow value(int place) const { return nodes_[place].value; }
  std::string explain_failure(const FrameView& frame) const;  // the first that fails; "": none
  std::vector<std::string> describe() const;

 private:
  struct Node {
    SourceRef source;
    std::vector<GuardKind> guards = {};        // cheap ones first
    std::vector<int> items = {}, others = {};  // what is read from it: as a dict, and otherwise
    std::vector<int> live_items = {};  // of items, those that may change while the dict does not
    bool is_place = false;
    mutable PyBorrow value = {};
    mutable uint64_t dict_version = 0;  // when all items held
  };

  struct Key {
    int parent;
    Source::Kind kind;
    int slot;
    PyObject *name, *object;

    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.parent, k.kind, k.slot, k.name, k.object);
    }
  };

  int node(const SourceRef& source);
  int node_below(int parent, const SourceRef& source);
  bool follows_from_dict(const Node& node) const;
  bool holds(const Node& node, const FrameView& frame) const noexcept;
  bool read_all(const Node& node, const std::vector<int>& children,
                const FrameView& frame) const noexcept;

  std::vector<Node> nodes_;
  std::vector<int> roots_;
  aten_bridge::HashMap<Key, int> known_;
};

}  // namespace torchdyn
