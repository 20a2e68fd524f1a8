#include "torchdyn/guards/guard.h"

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

int cost(const GuardKind& kind) { return kKinds[kind.index()].cost; }

const char* promise(const GuardKind& kind) { return kKinds[kind.index()].promise; }

}  // namespace torchdyn
