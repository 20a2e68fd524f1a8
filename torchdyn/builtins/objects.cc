// Types and attributes. CPython: Python/bltinmodule.c.
#include "torchdyn/cpython/objects.h"

#include <algorithm>

#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/symbol.h"

namespace torchdyn {
namespace {

// Null: not known.
PyTypeObject* known_type(Translator& t, const VarRef& value) {
  if (const auto* named = dynamic_cast<const NamedTupleVariable*>(value.get()))
    return named->type();
  if (const auto* made = dynamic_cast<const InstanceVariable*>(value.get()))
    return made->raw_type();
  if (const auto* s = dynamic_cast<const SequenceVariable*>(value.get()))
    return s->is_list() ? &PyList_Type : &PyTuple_Type;
  if (dynamic_cast<const DictVariable*>(value.get())) return &PyDict_Type;
  if (dynamic_cast<const SetVariable*>(value.get())) return &PySet_Type;
  if (dynamic_cast<const FunctionVariable*>(value.get())) return &PyFunction_Type;
  if (dynamic_cast<const BoundMethodVariable*>(value.get())) return &PyMethod_Type;
  if (const auto* tensor = dynamic_cast<const TensorVariable*>(value.get())) {
    if (tensor->source()) t.guards().add(tensor->source(), *TypeIs::of_type(tensor->type()));
    return tensor->type();
  }
  if (const auto* const number = dynamic_cast<const SymbolVariable*>(value.get()))
    return number->type();
  if (!value->object()) return nullptr;
  t.guard_type(*value);
  return Py_TYPE(value->object().get());
}

// Metatypes whose __instancecheck__ asks for nothing but the type.
bool is_plain_metatype(PyTypeObject* metatype) {
  const std::string_view name = metatype->tp_name;
  const PyRef check = torchdyn::name("__instancecheck__");
  return type_attribute(metatype, check) == type_attribute(&PyType_Type, check) ||
         name == "ABCMeta" || name == "torch._C._TensorMeta" || name == "_ParameterMeta";
}

// Whether it is an instance is its type's to say: CPython's type.__instancecheck__.
bool is_instance(Translator& t, PyBorrow function, const VarRef& value, const VarRef& of) {
  if (const auto* types = of->items())
    return std::any_of(types->begin(), types->end(),
                       [&](const VarRef& type) { return is_instance(t, function, value, type); });
  const PyBorrow type = of->object();
  if (!type) unknown_arguments(function, "of a type that is not known");
  PyTypeObject* const known = known_type(t, value);
  const bool is_union = Py_TYPE(type.get())->tp_name == std::string_view("types.UnionType");
  // torch.nn.Buffer asks tensors for an attribute, and others for their type.
  const bool is_buffer = Py_TYPE(type.get())->tp_name == std::string_view("_BufferMeta") &&
                         !dynamic_cast<const TensorVariable*>(value.get());
  if (!known || (!is_union && !is_buffer &&
                 (!PyType_Check(type.get()) || !is_plain_metatype(Py_TYPE(type.get())))))
    unknown_arguments(function, "of " + value->type_name());
  if (!is_union) t.guard_identity(*of);
  const int answer = PyObject_IsSubclass(reinterpret_cast<PyObject*>(known), type.get());
  if (answer < 0) throw PythonError();
  return answer == 1;
}

VarRef isinstance(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  return boolean(is_instance(t, function, args.positional[0], args.positional[1]));
}

VarRef issubclass(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  if (const auto* types = args.positional[1]->items())
    return boolean(std::any_of(types->begin(), types->end(), [&](const VarRef& type) {
      return protocol::truth(t, issubclass(t, function, {{args.positional[0], type}, {}}));
    }));
  for (const VarRef& type : args.positional) {
    if (!type->object() || !PyType_Check(type->object().get()))
      unknown_arguments(function, "of a " + type->type_name());
    t.guard_identity(*type);
  }
  const int answer =
      PyObject_IsSubclass(args.positional[0]->object().get(), args.positional[1]->object().get());
  if (answer < 0) throw PythonError();
  return boolean(answer == 1);
}

VarRef type(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  const VarRef& value = args.positional[0];
  PyTypeObject* const known = known_type(t, value);
  if (!known) unknown_arguments(function, "of a " + value->type_name());
  const PyBorrow object(reinterpret_cast<PyObject*>(known));
  if (const auto* made = dynamic_cast<const InstanceVariable*>(value.get())) return made->type();
  const bool is_found = value->source() && value->object();
  return std::make_shared<ObjectVariable>(
      PyRef::to(object),
      is_found ? Source::type_of(value->source()) : Source::fixed(object, known->tp_name));
}

std::string text(PyBorrow function, const VarRef& value) {
  if (!value->object() || !PyUnicode_CheckExact(value->object().get()))
    unknown_arguments(function, "of a name that is a " + value->type_name());
  return std::string(utf8(value->object()));
}

// Null: there is none.
VarRef look_up(Translator& t, const VarRef& value, const std::string& name);

VarRef attribute_or_null(Translator& t, const VarRef& value, const std::string& name) {
  try {
    return look_up(t, value, name);
  } catch (const Raised& raised) {
    if (!is_a(raised, PyBorrow(PyExc_AttributeError))) throw;
    return nullptr;
  }
}

VarRef look_up(Translator& t, const VarRef& value, const std::string& name) {
  if (is_object(value)) return find_attribute(t, value, name);
  const PyTypeObject* const known = known_type(t, value);
  const bool is_container = dynamic_cast<const ObjectVariable*>(value.get()) == nullptr;
  if (known && is_container && !dynamic_cast<const FunctionVariable*>(value.get()) &&
      !type_attribute(const_cast<PyTypeObject*>(known), torchdyn::name(name))) {
    if (!dynamic_cast<const TensorVariable*>(value.get()) || !value->source()) return nullptr;
    const SourceRef own = Source::member(value->source(), name);
    if (!own->read(t.frame())) {
      t.guards().add(own, Absent{});
      return nullptr;
    }
  }
  return protocol::get_attribute(t, value, name);
}

VarRef getattr(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 3);
  const std::string name = text(function, args.positional[1]);
  if (args.positional.size() == 2) return protocol::get_attribute(t, args.positional[0], name);
  const VarRef value = attribute_or_null(t, args.positional[0], name);
  return value ? value : args.positional[2];
}

VarRef hasattr(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  const std::string name = text(function, args.positional[1]);
  return boolean(attribute_or_null(t, args.positional[0], name) != nullptr);
}

VarRef delattr(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  delete_attribute_of_object(t, args.positional[0], text(function, args.positional[1]));
  return none();
}

VarRef setattr(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 3, 3);
  protocol::set_attribute(t, args.positional[0], text(function, args.positional[1]),
                          args.positional[2]);
  return none();
}

VarRef callable(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  PyTypeObject* const known = known_type(t, args.positional[0]);
  if (!known) unknown_arguments(function, "of a " + args.positional[0]->type_name());
  return boolean(known->tp_call != nullptr);
}

// super() is super(__class__, the first argument).
VarRef super(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 2);
  if (args.positional.size() == 2)
    return std::make_shared<SuperVariable>(args.positional[0], args.positional[1]);
  if (args.positional.size() == 1) unknown_arguments(function, "of one argument");
  return t.implicit_super();
}

constexpr BuiltinRow kRows[] = {
    {"builtins", "callable", callable},
    {"builtins", "delattr", delattr},
    {"builtins", "getattr", getattr},
    {"builtins", "hasattr", hasattr},
    {"builtins", "isinstance", isinstance},
    {"builtins", "issubclass", issubclass},
    {"builtins", "setattr", setattr},
    {"builtins", "super", super},
    {"builtins", "type", type},
};

}  // namespace

const std::span<const BuiltinRow> kObjectBuiltins = kRows;

}  // namespace torchdyn
