#include "torchdyn/guards/tree.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/guards/steady.h"

namespace torchdyn {

using aten_bridge::str_cat;

Guards::Guards() = default;
Guards::Guards(Guards&&) noexcept = default;
Guards& Guards::operator=(Guards&&) noexcept = default;
Guards::~Guards() = default;

// ---- Building
// --------------------------------------------------------------------------------------

void Guards::add(const SourceRef& source, GuardKind kind) {
  if (auto* const alias = std::get_if<Alias>(&kind)) alias->node = node(alias->other);
  std::vector<GuardKind>& guards = nodes_[node(source)].guards;
  for (const GuardKind& known : guards)
    if (is_of_one_kind(known, kind)) return;
  guards.push_back(std::move(kind));
}

int Guards::place(const SourceRef& source) {
  const int found = node(source);
  nodes_[found].is_place = true;
  return found;
}

int Guards::node(const SourceRef& source) {
  const int base = source->base() ? node(source->base()) : -1;
  if (source->kind() != Source::Kind::kMember) return node_below(base, source);
  const SourceRef dict = Source::dict(source->base());
  return node_below(node_below(base, dict), Source::item(dict, utf8(source->name())));
}

int Guards::node_below(int parent, const SourceRef& source) {
  const Key key{parent, source->kind(), source->slot(), source->name().get(),
                source->object().get()};
  const auto [known, is_new] = known_.try_emplace(key, static_cast<int>(nodes_.size()));
  if (!is_new) return known->second;
  const int made = known->second;
  nodes_.push_back({.source = source, .parent = parent});
  if (parent < 0) {
    roots_.push_back(made);
  } else {
    const bool is_item = source->kind() == Source::Kind::kItem;
    (is_item ? nodes_[parent].items : nodes_[parent].others).push_back(made);
  }
  return made;
}

// Whether the same object is all that its guards ask for.
bool Guards::follows_from_dict(const GuardNode& node) const {
  if (node.is_place || !node.is_leaf()) return false;
  return std::all_of(node.guards.begin(), node.guards.end(), [](const GuardKind& kind) {
    return std::holds_alternative<Absent>(kind) || std::holds_alternative<Equals>(kind) ||
           (std::holds_alternative<Same>(kind) && std::get<Same>(kind).weak);
  });
}

void Guards::finish() {
  known_.clear();
  for (GuardNode& node : nodes_) {
    std::stable_sort(node.guards.begin(), node.guards.end(),
                     [](const auto& a, const auto& b) { return cost(a) < cost(b); });
    for (const int item : node.items)
      if (!follows_from_dict(nodes_[item])) node.live_items.push_back(item);
  }
  // What is decided at once comes first.
  std::stable_partition(roots_.begin(), roots_.end(),
                        [&](int root) { return nodes_[root].is_leaf(); });
  steady_ = std::make_unique<Steady>(nodes_);
}

// ---- Checking
// --------------------------------------------------------------------------------------

bool Guards::read(GuardNode& node, const FrameView& frame) noexcept {
  const PyBorrow base = node.parent < 0 ? PyBorrow() : nodes_[node.parent].value;
  node.value = node.source->read_from(base, frame);
  return holds(node, frame);
}

bool Guards::read_all(const std::vector<int>& children, const FrameView& frame) noexcept {
  return std::all_of(children.begin(), children.end(),
                     [&](int child) { return read(nodes_[child], frame); });
}

bool Guards::holds(GuardNode& node, const FrameView& frame) noexcept {
  for (const GuardKind& kind : node.guards)
    if (!torchdyn::holds(kind, node.value, frame)) return false;
  if (!read_all(node.others, frame)) return false;
  if (node.items.empty()) return true;
  const bool is_dict = node.value && PyDict_CheckExact(node.value.get());
  const uint64_t version = is_dict ? td_dict_version(node.value.get()) : 0;
  if (version != 0 && version == node.dict_version) {
    for (const int item : node.live_items)
      if (!holds(nodes_[item], frame)) return false;
    return true;
  }
  node.dict_version = 0;  // what was known is overwritten, whether all holds or not
  if (!read_all(node.items, frame)) return false;
  node.dict_version = version;
  return true;
}

bool Guards::check(const FrameView& frame) noexcept {
  const auto walk = [&](GuardNode& node) { return read(node, frame); };
  const Steady::Answer answer = steady_->check(frame, walk);
  if (answer != Steady::Answer::kUnknown) return answer == Steady::Answer::kHolds;
  steady_->forget();
  if (!read_all(roots_, frame)) return false;
  steady_->have_held(roots_);
  return true;
}

std::string Guards::explain_failure(const FrameView& frame) const {
  for (const GuardNode& node : nodes_) {
    const PyBorrow value = node.source->read(frame);
    for (const GuardKind& kind : node.guards)
      if (!torchdyn::holds(kind, value, frame))
        return str_cat(node.source->text(), ": ", explanation(kind, value));
  }
  return "";
}

std::vector<std::string> Guards::describe() const {
  std::vector<std::string> lines;
  for (const GuardNode& node : nodes_)
    for (const GuardKind& kind : node.guards)
      lines.push_back(str_cat(node.source->text(), ": ", promise(kind)));
  return lines;
}

}  // namespace torchdyn
