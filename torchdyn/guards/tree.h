// The guards of one captured form, as a tree of what they read.
//   Guards guards;
//   guards.add(source, *TypeIs::of(value));
//   const int place = guards.place(source);
//   guards.finish();
//   if (!guards.check(frame)) say(guards.explain_failure(frame));   // "self: the type is B, was A"
//   guards.value(place)                       // what check() has found there
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/guards/guard.h"

namespace torchdyn {

class Steady;

// One source: read once a check, from what its parent was read as.
struct GuardNode {
  SourceRef source;
  int parent;                                // -1: the frame
  std::vector<GuardKind> guards = {};        // cheap ones first
  std::vector<int> items = {}, others = {};  // what is read from it: as a dict, and otherwise
  std::vector<int> live_items = {};  // of items, those that may change while the dict does not
  bool is_place = false;
  PyBorrow value = {};
  uint64_t dict_version = 0;   // when all items held
  int moves = 0, changes = 0;  // of its value, and of what that holds as a dict, when settled

  bool is_leaf() const { return items.empty() && others.empty(); }
};

class Guards {
 public:
  Guards();
  Guards(Guards&&) noexcept;
  Guards& operator=(Guards&&) noexcept;
  ~Guards();

  // One of a kind for a source: what is read twice is guarded once. Of aliases, one a pair.
  void add(const SourceRef& source, GuardKind kind);
  // A place whose value value() gives after a check that held.
  int place(const SourceRef& source);
  // To be called once, when all are there.
  void finish();

  // Holding the GIL: what was read is kept from one check to the next.
  bool check(const FrameView& frame) noexcept;
  PyBorrow value(int place) const { return nodes_[place].value; }
  std::string explain_failure(const FrameView& frame) const;  // the first that fails; "": none
  std::vector<std::string> describe() const;

 private:
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
  bool follows_from_dict(const GuardNode& node) const;
  bool read(GuardNode& node, const FrameView& frame) noexcept;
  bool holds(GuardNode& node, const FrameView& frame) noexcept;
  bool read_all(const std::vector<int>& children, const FrameView& frame) noexcept;

  std::vector<GuardNode> nodes_;
  std::vector<int> roots_;
  aten_bridge::HashMap<Key, int> known_;
  std::unique_ptr<Steady> steady_;  // null before finish()
};

}  // namespace torchdyn
