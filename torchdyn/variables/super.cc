// super(), and what object's own methods do.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

bool is_objects_method(std::string_view name) {
  return name == "__new__" || name == "__getattribute__" || name == "__setattr__" ||
         name == "__init__";
}

VarRef call_objects_method(Translator& t, const VarRef& variable, const CallArgs& args) {
  const auto& method = static_cast<const ObjectMethodVariable&>(*variable);
  const auto& values = args.positional;
  const auto* const exception = dynamic_cast<const ExceptionVariable*>(method.self().get());
  const auto name = [&] { return std::string(utf8(values[0]->object())); };
  if (method.name() == "__getattribute__" && values.size() == 1) {
    if (VarRef value = find_generic_attribute(t, method.self(), name())) return value;
    raise(t, PyBorrow(PyExc_AttributeError),
          str_cat("'", method.self()->type_name(), "' object has no attribute '", name(), "'"));
  }
  if (method.name() == "__new__") {
    auto* const type = as_type(values.at(0)->object());
    if (!makes_exceptions(type)) return std::make_shared<InstanceVariable>(values[0]);
    return std::make_shared<ExceptionVariable>(
        values[0], std::vector<VarRef>(values.begin() + 1, values.end()));
  }
  if (method.name() == "__setattr__" && values.size() == 2)
    set_generic_attribute(t, method.self(), name(), values[1]);
  else if (exception && method.name() == "__init__" && args.named.empty())
    exception->set_args(values);
  else if (!values.empty() || !args.named.empty())
    break_graph(BreakReason::kRaises, "object.__init__() takes no arguments");
  return none();
}

VarRef attribute_of_super(Translator& t, const VarRef& self, const std::string& name) {
  const auto& super = static_cast<const SuperVariable&>(*self);
  return super_attribute(t, super.type(), super.self(), name);
}

}  // namespace

const Slots& ObjectMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_objects_method};
  return kSlots;
}

const Slots& SuperVariable::slots() const {
  static constexpr Slots kSlots{.getattro = attribute_of_super};
  return kSlots;
}

namespace {

// Of a base that is CPython's own. Null: it has none.
VarRef attribute_of_builtin(Translator& t, const VarRef& self, PyTypeObject* base,
                            const std::string& name) {
  const PyBorrow found = type_attribute(base, torchdyn::name(name));
  if (!found) return nullptr;
  if (VarRef method = method_of_contents(t, self, found)) return method;
  const bool is_known = base == &PyBaseObject_Type || makes_exceptions(base) ||
                        (PyType_IsSubtype(base, &PyDict_Type) && name != "__init__");
  if (!is_known || !is_objects_method(name))
    break_graph(BreakReason::kAttribute, str_cat("super().", name));
  return std::make_shared<ObjectMethodVariable>(self, name);
}

}  // namespace

// CPython: Objects/typeobject.c, do_super_lookup, for objects that are no types.
VarRef super_attribute(Translator& t, const VarRef& type, const VarRef& self,
                       const std::string& name) {
  if (!is_object(self) || !type->object() || !PyType_Check(type->object().get()))
    break_graph(BreakReason::kAttribute, str_cat("super().", name));
  const bool is_type = self->object() && PyType_Check(self->object().get());
  if (is_type) {
    t.guards().add(self->source(), *IsType::of(self->object()));
  } else {
    expect_found(t, self);
  }
  t.guard_identity(*type);
  const PyBorrow order(is_type ? as_type(self->object())->tp_mro : type_of_object(*self)->tp_mro);
  bool is_after = false;
  int index = 0;
  for (const PyBorrow base : items_of(order)) {
    const int here = index++;
    if (!is_after) {
      is_after = base == type->object();
      continue;
    }
    if (!PyType_HasFeature(as_type(base), Py_TPFLAGS_HEAPTYPE)) {
      if (VarRef value = attribute_of_builtin(t, self, as_type(base), name)) return value;
      continue;
    }
    const PyBorrow found = own_attribute(base, torchdyn::name(name));
    if (!found) continue;
    const VarRef owner = is_type ? self : type_of(t, self);
    if (VarRef value = bound(t, is_type ? nullptr : self, owner, found,
                             Source::base_member(owner->source(), here, name)))
      return value;
    break_graph(BreakReason::kAttribute, str_cat("super().", name));
  }
  break_graph(BreakReason::kAttribute, str_cat("super().", name));
}

}  // namespace torchdyn
