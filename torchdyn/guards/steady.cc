#include "torchdyn/guards/steady.h"

#include <algorithm>
#include <new>

#include "torchdyn/cpython/objects.h"

namespace torchdyn {
namespace {

// Of an object whose dict nobody asks for.
PyObject* const kNoPlace = nullptr;

// CPython: Objects/typeobject.c, object_set_class.
bool may_become_of_another_type(PyBorrow object) {
  return !PyType_HasFeature(Py_TYPE(object.get()), Py_TPFLAGS_IMMUTABLETYPE) ||
         PyModule_Check(object.get());
}

PyTypeObject* as_type(PyBorrow object) {
  return PyType_Check(object.get()) ? reinterpret_cast<PyTypeObject*>(object.get()) : nullptr;
}

bool is_dict(PyBorrow value) { return value && PyDict_Check(value.get()); }

// Guards that a dict's keys decide, whatever it has under them.
bool concerns_keys(const GuardKind& kind) {
  return std::holds_alternative<Length>(kind) || std::holds_alternative<Keys>(kind) ||
         std::holds_alternative<Holds>(kind);
}

bool is_keyed(const GuardNode& node) { return node.source->kind() == Source::Kind::kKeyed; }

}  // namespace

// ---- Checking
// --------------------------------------------------------------------------------------

Steady::Answer Steady::read(GuardNode& node, const FrameView& frame) noexcept {
  const PyBorrow base = node.parent < 0 ? PyBorrow() : nodes_[node.parent].value;
  const PyBorrow now = node.source->read_from(base, frame);
  for (const GuardKind& kind : node.guards)
    if (!holds(kind, now, frame)) return Answer::kFails;
  if (now == node.value) return Answer::kHolds;
  if (!node.is_leaf()) {
    ++node.moves;
    return Answer::kUnknown;
  }
  node.value = now;
  return Answer::kHolds;
}

Steady::Answer Steady::check(const FrameView& frame, Walk walk) noexcept {
  if (!is_settled_) return Answer::kUnknown;
  const Owner* owner = owners_.data();
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Step::Kind::kOwners:
        for (const Owner* const end = owner + step.at; owner != end; ++owner)
          if (!owner->is_same()) return Answer::kUnknown;
        break;
      case Step::Kind::kType:
        if (td_type_version(types_[step.at].type) != types_[step.at].version)
          return Answer::kUnknown;
        break;
      case Step::Kind::kRead:
        if (const Answer answer = read(nodes_[step.at], frame); answer != Answer::kHolds)
          return answer;
        break;
      case Step::Kind::kGuards:
        for (const GuardKind& kind : nodes_[step.at].guards)
          if (!holds(kind, nodes_[step.at].value, frame)) return Answer::kFails;
        break;
      case Step::Kind::kWalk:
        if (!walk(nodes_[step.at])) return Answer::kFails;
        break;
    }
  }
  return Answer::kHolds;
}

void Steady::dict_changes(TdDictChange change, PyBorrow key, int n) noexcept {
  if (!is_settled_) return;
  GuardNode& node = nodes_[n];
  const bool is_name =
      key && PyUnicode_CheckExact(key.get()) && PyUnicode_CHECK_INTERNED(key.get());
  const auto reads = [&](int item) { return nodes_[item].source->name() == key; };
  const bool concerns = !is_name ||
                        std::any_of(node.others.begin(), node.others.end(),
                                    [&](int other) { return is_keyed(nodes_[other]); }) ||
                        (change == TD_KEY_CHANGES &&
                         std::any_of(node.guards.begin(), node.guards.end(), concerns_keys)) ||
                        std::any_of(node.items.begin(), node.items.end(), reads);
  if (!concerns) return;
  ++node.changes;
  is_settled_ = false;
}

// ---- Settling
// --------------------------------------------------------------------------------------

void Steady::have_held(const std::vector<int>& roots) noexcept {
  if (wait_-- > 0) return;
  wait_ = next_wait_;
  next_wait_ = std::min(2 * next_wait_ + 1, kLongestWait);
  try {
    settle(roots);
  } catch (const std::bad_alloc&) {
    is_settled_ = false;
  }
}

void Steady::settle(const std::vector<int>& roots) {
  unwatch_all();
  steps_.clear();
  owners_.clear();
  types_.clear();
  is_kept_.assign(nodes_.size(), false);
  is_watched_.assign(nodes_.size(), false);
  for (const int root : roots) add(root, /*is_kept=*/false);
  for (const int n : aliases_) {
    const auto are_kept = [&](const GuardKind& kind) {
      const auto* const alias = std::get_if<Alias>(&kind);
      return !alias || is_kept_[alias->node];
    };
    const auto& guards = nodes_[n].guards;
    if (!std::all_of(guards.begin(), guards.end(), are_kept))
      steps_.push_back({Step::Kind::kGuards, n});
  }
  aliases_.clear();
  expected_.clear();
  is_settled_ = true;
}

void Steady::add(int n, bool is_kept) {
  const GuardNode& node = nodes_[n];
  is_kept_[n] = is_kept;
  const bool is_walked = !is_kept && !node.is_leaf() && node.moves >= kRestless;
  if (is_walked) return steps_.push_back({Step::Kind::kWalk, n});
  if (!is_kept) steps_.push_back({Step::Kind::kRead, n});
  if (!node.is_leaf() || (is_kept && !node.guards.empty())) add_owner(n);
  if (is_kept) add_guards(n);
  for (const int child : node.others) add(child, follows(n, is_kept, nodes_[child]));
  for (const int child : node.items) add(child, follows(n, is_kept, nodes_[child]));
}

// Of a kept node.
void Steady::add_guards(int n) {
  const GuardNode& node = nodes_[n];
  bool are_settled = true, has_alias = false;
  for (const GuardKind& kind : node.guards) {
    has_alias |= std::holds_alternative<Alias>(kind);
    are_settled &= follows(kind, n);
  }
  if (!are_settled) return steps_.push_back({Step::Kind::kGuards, n});
  if (has_alias) aliases_.push_back(n);
}

bool Steady::follows(const GuardKind& kind, int n) {
  const PyBorrow value = nodes_[n].value;
  if (const auto* const type = std::get_if<TypeIs>(&kind)) return expect_type(type->type);
  if (const auto* const type = std::get_if<IsType>(&kind)) return expect_type(type->type.type);
  if (const auto* const same = std::get_if<Same>(&kind)) return static_cast<bool>(same->weak);
  if (const auto* const set = std::get_if<Holds>(&kind); set && set->object) return false;
  if (concerns_keys(kind)) return (value && PyTuple_Check(value.get())) || watch_dict(n);
  return true;  // a constant, or nothing; aliases are seen to when all nodes are known
}

void Steady::add_owner(int n) {
  const GuardNode& node = nodes_[n];
  if (!node.value) return;
  PyObject* const object = node.value.get();
  const auto asks_for_dict = [&](int child) {
    return nodes_[child].source->kind() == Source::Kind::kDict;
  };
  const auto dict = std::find_if(node.others.begin(), node.others.end(), asks_for_dict);
  Owner owner{object, Py_TYPE(object), &kNoPlace, nullptr};
  if (dict != node.others.end()) {
    owner.place = td_dict_place(object);
    owner.dict = nodes_[*dict].value.get();
    if (!owner.place || *owner.place != owner.dict)
      owner = {object, owner.type, &kNoPlace, nullptr};
  }
  if (is_kept_[n] && owner.place == &kNoPlace && !may_become_of_another_type(node.value)) return;
  owners_.push_back(owner);
  if (steps_.empty() || steps_.back().kind != Step::Kind::kOwners)
    steps_.push_back({Step::Kind::kOwners, 0});
  ++steps_.back().at;
}

// Whether what `child` has been read as follows from what its base was read as.
bool Steady::follows(int base, bool is_base_kept, const GuardNode& child) {
  const PyBorrow value = nodes_[base].value;
  if (!value) return true;
  switch (child.source->kind()) {
    case Source::Kind::kDict: {
      PyObject* const* const place = td_dict_place(value.get());
      return place && *place == child.value.get();
    }
    case Source::Kind::kItem:
    case Source::Kind::kKeyed:
      return watch_dict(base);
    case Source::Kind::kContents:
    case Source::Kind::kTypeOf:
      return true;
    case Source::Kind::kElement:
      return is_base_kept && PyTuple_Check(value.get());
    case Source::Kind::kTypeMember:
      return expect_type(Py_TYPE(value.get()));
    case Source::Kind::kClassMember:
    case Source::Kind::kBaseMember:
    case Source::Kind::kClassOrder:
      return as_type(value) && expect_type(as_type(value));
    default:
      return false;
  }
}

bool Steady::watch_dict(int n) {
  GuardNode& node = nodes_[n];
  if (node.changes >= kRestless || !is_dict(node.value)) return false;
  if (!is_watched_[n]) is_watched_[n] = watch(node.value, n);
  return is_watched_[n];
}

bool Steady::expect_type(PyTypeObject* type) {
  const unsigned version = td_type_version(type);
  if (version == 0) return false;
  if (!expected_.insert(type).second) return true;
  steps_.push_back({Step::Kind::kType, static_cast<int>(types_.size())});
  types_.push_back({type, version});
  return true;
}

}  // namespace torchdyn
