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
  const auto* const alias = std::get_if<Alias>(&a);
  return !alias || *alias->other == *std::get<Alias>(b).other;
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

bool Keys::check(PyBorrow value) const noexcept {
  if (!value || !PyDict_CheckExact(value.get()) ||
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

void Guards::add(SourceRef source, GuardKind kind) {
  for (const Guard& known : guards_)
    if (*known.source == *source && is_of_one_kind(known.kind, kind)) return;
  guards_.push_back({std::move(source), std::move(kind)});
}

void Guards::sort() {
  std::stable_sort(guards_.begin(), guards_.end(), [](const Guard& a, const Guard& b) {
    return kKinds[a.kind.index()].cost < kKinds[b.kind.index()].cost;
  });
}

bool Guards::check(const FrameView& frame) const noexcept {
  for (const Guard& guard : guards_) {
    const PyBorrow value = guard.source->read(frame);
    if (!holds(guard.kind, value, frame)) return false;
  }
  return true;
}

std::string Guards::explain_failure(const FrameView& frame) const {
  for (const Guard& guard : guards_) {
    const PyBorrow value = guard.source->read(frame);
    if (holds(guard.kind, value, frame)) continue;
    return str_cat(guard.source->text(), ": ",
                   std::visit([&](const auto& kind) { return kind.explain(value); }, guard.kind));
  }
  return "";
}

std::vector<std::string> Guards::describe() const {
  std::vector<std::string> lines;
  for (const Guard& guard : guards_)
    lines.push_back(str_cat(guard.source->text(), ": ", kKinds[guard.kind.index()].promise));
  return lines;
}

}  // namespace torchdyn
