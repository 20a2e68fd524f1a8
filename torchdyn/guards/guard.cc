#include "torchdyn/guards/guard.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/cpython/objects.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

struct KindRow {
  int cost;
  const char* promise;
};

// By the variant's index.
constexpr KindRow kKinds[] = {
#define GUARD_KIND(name, cost, promise) {cost, promise},
#include "torchdyn/guards/kinds.def"
#undef GUARD_KIND
};

constexpr size_t kCount = std::size(kKinds);
static_assert(kCount == std::variant_size_v<GuardKind>);

bool holds(const GuardKind& kind, PyBorrow value, const FrameView& frame) noexcept {
  if (const auto* const alias = std::get_if<Alias>(&kind)) return alias->check(value, frame);
  return std::visit(
      [&](const auto& k) {
        if constexpr (requires { k.check(value); }) return k.check(value);
        return false;
      },
      kind);
}

bool is_of_one_kind(const GuardKind& a, const GuardKind& b) {
  if (a.index() != b.index()) return false;
  if (const auto* const holds = std::get_if<Holds>(&a))
    return holds->element() == std::get<Holds>(b).element();
  const auto* const alias = std::get_if<Alias>(&a);
  return !alias || *alias->other == *std::get<Alias>(b).other;
}

std::string explanation(const GuardKind& kind, PyBorrow value) {
  return std::visit([&](const auto& k) { return k.explain(value); }, kind);
}

std::string type_name(PyBorrow value) { return value ? Py_TYPE(value.get())->tp_name : "nothing"; }

}  // namespace

std::optional<TypeIs> TypeIs::of(PyBorrow value) { return of_type(Py_TYPE(value.get())); }

std::optional<TypeIs> TypeIs::of_type(PyTypeObject* type) {
  (void)type_attribute(type, name("__class__"));  // a type gets its version when it is first asked
  const unsigned version = td_type_version(type);
  return version == 0 ? std::nullopt : std::optional(TypeIs{type, version});
}

bool TypeIs::check(PyBorrow value) const noexcept {
  return value && Py_TYPE(value.get()) == type && td_type_version(type) == version;
}

std::string TypeIs::explain(PyBorrow value) const {
  if (value && Py_TYPE(value.get()) == type) return "an attribute of its type has changed";
  return str_cat("the type is ", type_name(value), ", was another");
}

std::optional<IsType> IsType::of(PyBorrow type) {
  const auto known = TypeIs::of_type(reinterpret_cast<PyTypeObject*>(type.get()));
  return known ? std::optional(IsType{*known}) : std::nullopt;
}

bool IsType::check(PyBorrow value) const noexcept {
  return value.get() == reinterpret_cast<PyObject*>(type.type) &&
         td_type_version(type.type) == type.version;
}

std::string IsType::explain(PyBorrow value) const {
  if (value.get() == reinterpret_cast<PyObject*>(type.type))
    return "an attribute of it has changed";
  return "it is another type";
}

std::optional<Same> Same::of(PyBorrow value) {
  PyObject* const weak = PyWeakref_NewRef(value.get(), nullptr);
  if (!weak) {
    PyErr_Clear();
    const auto type = TypeIs::of(value);
    const std::string_view metatype = Py_TYPE(Py_TYPE(value.get()))->tp_name;
    if (metatype != "EnumType" || !type) return std::nullopt;
    return Same{value, PyRef(), type};
  }
  return Same{value, PyRef::steal(weak), std::nullopt};
}

bool Same::check(PyBorrow value) const noexcept {
  if (!weak) return value == object && type->check(value);
  const auto* const reference = reinterpret_cast<const PyWeakReference*>(weak.get());
  return value == object && reference->wr_object == object.get();
}

std::string Same::explain(PyBorrow value) const {
  return str_cat("it is another object, of type ", type_name(value));
}

std::string Absent::explain(PyBorrow value) const {
  return str_cat("there is one now, of type ", type_name(value));
}

std::string Length::explain(PyBorrow value) const {
  return str_cat("its length is ", value ? torchdyn::length(value) : -1, ", was ", length);
}

std::string Alias::explain(PyBorrow) const {
  return str_cat("it is ", is_same ? "no longer " : "now ", other->text());
}

namespace {

// Of an exact set, frozenset or dict; -1: it is another, or the element cannot be one.
int contains(PyBorrow container, PyBorrow element) noexcept {
  if (PyAnySet_CheckExact(container.get())) return PySet_Contains(container.get(), element.get());
  return PyDict_CheckExact(container.get()) ? PyDict_Contains(container.get(), element.get()) : -1;
}

}  // namespace

std::optional<Holds> Holds::of(PyBorrow set, PyBorrow element) {
  Holds made{PyRef(), std::nullopt, false};
  if (is_plain_constant(element)) {
    made.constant = PyRef::to(element);
  } else if (has_identity_hash(element)) {
    made.object = Same::of(element);
  }
  if (!made.constant && !made.object) return std::nullopt;
  const int answer = contains(set, element);
  if (answer < 0) throw PythonError();
  made.is_there = answer == 1;
  return made;
}

bool Holds::check(PyBorrow value) const noexcept {
  if (object && !object->check(object->object)) return false;
  const int answer = value ? contains(value, element()) : -1;
  if (answer < 0) PyErr_Clear();
  return answer == (is_there ? 1 : 0);
}

std::string Holds::explain(PyBorrow) const {
  return is_there ? "an element is there no more" : "there is an element more";
}

bool Keys::check(PyBorrow value) const noexcept {
  if (!value || Py_TYPE(value.get()) != type ||
      PyDict_GET_SIZE(value.get()) != PyTuple_GET_SIZE(keys.get()))
    return false;
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0, n = 0; PyDict_Next(value.get(), &at, &key, &item) != 0; ++n)
    if (!equal_constants(PyBorrow(key), PyBorrow(PyTuple_GET_ITEM(keys.get(), n)))) return false;
  return true;
}

std::string Keys::explain(PyBorrow) const { return "its keys are others"; }

bool Equals::check(PyBorrow value) const noexcept { return equal_constants(value, constant); }

std::string Equals::explain(PyBorrow value) const {
  const std::string now = value && is_plain_constant(value) ? text_of(value) : type_name(value);
  return str_cat("it is ", now, ", was ", text_of(constant));
}

// ---- The tree
// --------------------------------------------------------------------------------------

void Guards::add(const SourceRef& source, GuardKind kind) {
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
  nodes_.push_back({.source = source});
  if (parent < 0) {
    roots_.push_back(made);
  } else {
    const bool is_item = source->kind() == Source::Kind::kItem;
    (is_item ? nodes_[parent].items : nodes_[parent].others).push_back(made);
  }
  return made;
}

// Whether the same object is all that its guards ask for.
bool Guards::follows_from_dict(const Node& node) const {
  if (node.is_place || !node.items.empty() || !node.others.empty()) return false;
  return std::all_of(node.guards.begin(), node.guards.end(), [](const GuardKind& kind) {
    return std::holds_alternative<Absent>(kind) || std::holds_alternative<Equals>(kind) ||
           (std::holds_alternative<Same>(kind) && std::get<Same>(kind).weak);
  });
}

void Guards::finish() {
  known_.clear();
  for (Node& node : nodes_) {
    std::stable_sort(node.guards.begin(), node.guards.end(), [](const auto& a, const auto& b) {
      return kKinds[a.index()].cost < kKinds[b.index()].cost;
    });
    for (const int item : node.items)
      if (!follows_from_dict(nodes_[item])) node.live_items.push_back(item);
  }
}

bool Guards::read_all(const Node& node, const std::vector<int>& children,
                      const FrameView& frame) const noexcept {
  for (const int child : children) {
    const Node& read = nodes_[child];
    read.value = read.source->read_from(node.value, frame);
    if (!holds(read, frame)) return false;
  }
  return true;
}

bool Guards::holds(const Node& node, const FrameView& frame) const noexcept {
  for (const GuardKind& kind : node.guards)
    if (!torchdyn::holds(kind, node.value, frame)) return false;
  if (!read_all(node, node.others, frame)) return false;
  if (node.items.empty()) return true;
  const bool is_dict = node.value && PyDict_CheckExact(node.value.get());
  const uint64_t version = is_dict ? td_dict_version(node.value.get()) : 0;
  if (version != 0 && version == node.dict_version) {
    for (const int item : node.live_items)
      if (!holds(nodes_[item], frame)) return false;
    return true;
  }
  node.dict_version = 0;  // what was known is overwritten, whether all holds or not
  if (!read_all(node, node.items, frame)) return false;
  node.dict_version = version;
  return true;
}

bool Guards::check(const FrameView& frame) const noexcept {
  const Node top{};
  return read_all(top, roots_, frame);
}

std::string Guards::explain_failure(const FrameView& frame) const {
  for (const Node& node : nodes_) {
    const PyBorrow value = node.source->read(frame);
    for (const GuardKind& kind : node.guards)
      if (!torchdyn::holds(kind, value, frame))
        return str_cat(node.source->text(), ": ", explanation(kind, value));
  }
  return "";
}

std::vector<std::string> Guards::describe() const {
  std::vector<std::string> lines;
  for (const Node& node : nodes_)
    for (const GuardKind& kind : node.guards)
      lines.push_back(str_cat(node.source->text(), ": ", kKinds[kind.index()].promise));
  return lines;
}

}  // namespace torchdyn
