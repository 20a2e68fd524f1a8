// What is left to look at of a tree of guards while nothing of the rest can have changed.
//   Steady steady(nodes);
//   steady.have_held(roots);                 // all guards hold, each node has what was read
//   switch (steady.check(frame, walk)) ...   // kUnknown: forget(), and read all of the tree
//
// Law
//  - A node is kept where its value cannot change unseen: what a watched dict has under a key, what
//    a type of known version has, an element of a kept tuple. The dict or object that leads to it
//    keeps it alive, so that its address tells who it is, and its guards hold as they did.
//  - Any other node is read again, with all of its guards. Its address alone says nothing, since
//    another object may have taken the place: what is below it is kept by watched dicts, which say
//    when they go, and by types' versions.
//  - Nobody tells of an object that gets another type or dict: these are compared (Owner).
//  - Steps are in the order of the tree: whoever is looked at is alive by what was looked at
//  before.
//  - What changes from call to call is read on each call: dicts that changed kRestless times are
//  not
//    watched, and a subtree below a value that was as often another one is walked as it is.
#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/cpython/dict_watch.h"
#include "torchdyn/guards/tree.h"

namespace torchdyn {

class Steady : private DictWatcher {
 public:
  enum class Answer : uint8_t { kHolds, kFails, kUnknown };
  using Walk = absl::FunctionRef<bool(GuardNode&)>;  // reads a node and all that is below it

  explicit Steady(std::span<GuardNode> nodes) : nodes_(nodes) {}

  Answer check(const FrameView& frame, Walk walk) noexcept;
  void forget() noexcept { is_settled_ = false; }
  // Not each time, where that was in vain before. Without memory for it all stays unknown.
  void have_held(const std::vector<int>& roots) noexcept;

 private:
  static constexpr int kRestless = 2;
  static constexpr int kLongestWait = 16;

  // An object that is read from, with its type and where it has its dict.
  struct Owner {
    PyObject* object;
    PyTypeObject* type;
    PyObject* const* place;
    PyObject* dict;

    bool is_same() const noexcept { return Py_TYPE(object) == type && *place == dict; }
  };

  struct Step {
    enum class Kind : uint8_t { kOwners, kType, kRead, kGuards, kWalk } kind;
    int at;  // a node, or a type; of owners, how many
  };

  void settle(const std::vector<int>& roots);
  void add(int n, bool is_kept);
  void add_guards(int n);
  void add_owner(int n);
  bool follows(int base, bool is_base_kept, const GuardNode& child);
  bool follows(const GuardKind& kind, int n);
  bool watch_dict(int n);
  bool expect_type(PyTypeObject* type);
  Answer read(GuardNode& node, const FrameView& frame) noexcept;

  void dict_changes(TdDictChange change, PyBorrow key, int n) noexcept override;

  std::span<GuardNode> nodes_;
  bool is_settled_ = false;
  int wait_ = 0, next_wait_ = 0;  // times that all held, before it is settled again
  std::vector<Step> steps_;
  std::vector<Owner> owners_;
  std::vector<TypeIs> types_;

  // While it is settled.
  std::vector<bool> is_kept_, is_watched_;
  std::vector<int> aliases_;  // nodes
  aten_bridge::HashSet<PyTypeObject*> expected_;
};

}  // namespace torchdyn
