#include "torchdyn/variables/special_methods.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

VarRef call_method(Translator& t, const VarRef& self, const char* name, const CallArgs& args) {
  if (const VarRef method = special_method(t, self, name)) return protocol::call(t, method, args);
  break_graph(BreakReason::kValue, str_cat(name, " of a ", self->type_name()));
}

// The other operand's method for the same question.
constexpr std::pair<std::string_view, const char*> kReflected[] = {
    {"lt", "__gt__"}, {"gt", "__lt__"}, {"le", "__ge__"},
    {"ge", "__le__"}, {"eq", "__eq__"}, {"ne", "__ne__"}};

std::string reflected(std::string_view name) {
  for (const auto& [known, other] : kReflected)
    if (known == name) return other;
  return str_cat("__r", name, "__");
}

bool is_not_implemented(const VarRef& value) { return value->object().get() == Py_NotImplemented; }

// Null: the method is not there, or does not take the other operand.
VarRef try_operator(Translator& t, const VarRef& self, const std::string& method,
                    const VarRef& other) {
  const VarRef found = is_object(self) ? special_method(t, self, method) : nullptr;
  if (!found) return nullptr;
  VarRef result = protocol::call(t, found, {{other}, {}});
  return is_not_implemented(result) ? nullptr : result;
}

// Values whose comparison is a type's of CPython's own: members of enums that are strings.
bool compares_as_builtin(const VarRef& value) {
  if (!value->object()) return false;
  const auto compare = Py_TYPE(value->object().get())->tp_richcompare;
  return compare == PyUnicode_Type.tp_richcompare || compare == PyLong_Type.tp_richcompare ||
         compare == PyFloat_Type.tp_richcompare;
}

}  // namespace

namespace special {

// CPython: Objects/abstract.c, binary_op1 and binary_iop1; Objects/object.c, do_richcompare.
VarRef number(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  const std::string name = text_of(attribute(t.gil(), function, "__name__"));
  const std::string plain = name.back() == '_' ? name.substr(0, name.size() - 1) : name;
  if (compares_as_builtin(left) && compares_as_builtin(right)) {
    t.guard_identity(*left);
    t.guard_identity(*right);
    std::vector<PyRef> both;
    both.push_back(PyRef::to(left->object()));
    both.push_back(PyRef::to(right->object()));
    return protocol::from_constant(torchdyn::call(t.gil(), function, tuple_of(both)));
  }
  if (VarRef result = try_operator(t, left, str_cat("__", plain, "__"), right)) return result;
  const bool is_in_place = plain.size() > 3 && plain[0] == 'i' && plain != "invert";
  const std::string base = is_in_place ? plain.substr(1) : plain;
  if (is_in_place)
    if (VarRef result = try_operator(t, left, str_cat("__", base, "__"), right)) return result;
  if (VarRef result = try_operator(t, right, reflected(base), left)) return result;
  break_graph(BreakReason::kValue,
              str_cat(left->type_name(), " and ", right->type_name(), " of operator.", name));
}

void set_item(Translator& t, const VarRef& self, const VarRef& key, const VarRef& value) {
  (void)call_method(t, self, "__setitem__", {{key, value}, {}});
}

VarRef call(Translator& t, const VarRef& self, const CallArgs& args) {
  return call_method(t, self, "__call__", args);
}

// CPython: Objects/typeobject.c, slot_sq_contains.
bool contains(Translator& t, const VarRef& self, const VarRef& value) {
  if (special_method(t, self, "__contains__"))
    return protocol::truth(t, call_method(t, self, "__contains__", {{value}, {}}));
  const PyBorrow object = self->object();
  const PyRef known = value->object() ? PyRef::to(value->object()) : protocol::as_constant(value);
  if (object && known && (PyAnySet_CheckExact(object.get()) || PyDict_CheckExact(object.get())))
    if (auto holds = Holds::of(object, known)) {
      t.guard_identity(*value);
      const bool is_there = holds->is_there;
      t.guards().add(self->source(), std::move(*holds));
      return is_there;
    }
  break_graph(BreakReason::kValue, str_cat("what is in a ", self->type_name()));
}

VarRef get_item(Translator& t, const VarRef& self, const VarRef& key) {
  if (self->object() && PyDict_CheckExact(self->object().get())) {
    if (VarRef value = keyed_item(t, self, key)) return value;
    raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{key});
  }
  return call_method(t, self, "__getitem__", {{key}, {}});
}

VarRef iterate(Translator& t, const VarRef& self) { return call_method(t, self, "__iter__", {}); }

// Of dicts of all types whose length is a dict's, too: OrderedDicts.
VarRef length(Translator& t, const VarRef& self) {
  PyTypeObject* const type = type_of_object(*self);
  const bool is_dict = self->object() && PyDict_Check(self->object().get()) &&
                       type->tp_as_mapping->mp_length == PyDict_Type.tp_as_mapping->mp_length;
  if (!is_dict) return call_method(t, self, "__len__", {});
  const Py_ssize_t count = torchdyn::length(self->object());
  t.guard_type(*self);
  t.guards().add(self->source(), Length{count});
  return std::make_shared<ConstantVariable>(owned(PyLong_FromSsize_t(count)));
}

// CPython: Objects/object.c, PyObject_IsTrue: __bool__, else a length, else true.
VarRef truth(Translator& t, const VarRef& self) {
  const PyTypeObject* const type = type_of_object(*self);
  t.guard_type(*self);
  if (type->tp_as_number && type->tp_as_number->nb_bool)
    return call_method(t, self, "__bool__", {});
  const bool has_length = (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
                          (type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (has_length) return length(t, self);
  return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_True)));
}

}  // namespace special

// ---- Objects that the frame makes
// ------------------------------------------------------------------

namespace {

// CPython: Lib/collections/__init__.py, namedtuple.
VarRef make_named_tuple(Translator& t, const VarRef& type, const CallArgs& args) {
  auto* const raw = reinterpret_cast<PyTypeObject*>(type->object().get());
  t.guards().add(type->source(), *IsType::of(type->object()));
  const std::vector<std::string> fields = field_names(raw);
  std::vector<VarRef> items = args.positional;
  for (size_t n = items.size(); n < fields.size(); ++n)
    for (const auto& [name, value] : args.named)
      if (name == fields[n]) items.push_back(value);
  if (items.size() != fields.size() || args.positional.size() + args.named.size() != fields.size())
    break_graph(BreakReason::kCall, raw->tp_name);
  return std::make_shared<NamedTupleVariable>(PyRef::to(type->object()), std::move(items));
}

VarRef call_new(Translator& t, const VarRef& type, PyBorrow function, const CallArgs& args) {
  CallArgs all{args};
  all.positional.insert(all.positional.begin(), type);
  const SourceRef source = Source::unwrapped(Source::class_member(type->source(), "__new__"));
  return protocol::call(t, std::make_shared<ObjectVariable>(PyRef::to(function), source), all);
}

}  // namespace

VarRef make_instance(Translator& t, const VarRef& type, const CallArgs& args) {
  auto* const raw = reinterpret_cast<PyTypeObject*>(type->object().get());
  if (raw->tp_base == &PyTuple_Type && !field_names(raw).empty())
    return make_named_tuple(t, type, args);
  const PyBorrow own_new = static_function(type_attribute(raw, torchdyn::name("__new__")));
  const bool is_exception = makes_exceptions(raw);
  const bool is_known = PyType_HasFeature(raw, Py_TPFLAGS_HEAPTYPE) || raw == &PyODict_Type;
  const bool is_plain = (is_known || is_exception) &&
                        (own_new || raw->tp_new == PyBaseObject_Type.tp_new ||
                         raw->tp_new == PyDict_Type.tp_new || is_exception) &&
                        Py_TYPE(raw)->tp_call == PyType_Type.tp_call &&
                        !PyType_HasFeature(raw, Py_TPFLAGS_IS_ABSTRACT) &&
                        raw->tp_basicsize <= PyBaseObject_Type.tp_basicsize + 16 * 64;
  if (!is_plain) break_graph(BreakReason::kCall, raw->tp_name);
  auto known = IsType::of(type->object());
  if (!known) break_graph(BreakReason::kCall, raw->tp_name);
  if (type->source()) t.guards().add(type->source(), *known);
  const VarRef made = own_new        ? call_new(t, type, own_new, args)
                      : is_exception ? std::make_shared<ExceptionVariable>(type, args.positional)
                                     : std::make_shared<InstanceVariable>(type);
  const auto* const instance = dynamic_cast<const InstanceVariable*>(made.get());
  if (!instance || instance->raw_type() != raw) return made;
  if (own_new && raw->tp_init == PyBaseObject_Type.tp_init) return made;
  if (const VarRef init = special_method(t, made, "__init__")) {
    (void)protocol::call(t, init, args);
  } else if (is_exception) {
    if (!args.named.empty()) break_graph(BreakReason::kRaises, raw->tp_name);
  } else if (!args.positional.empty() || !args.named.empty()) {
    break_graph(BreakReason::kRaises, str_cat(raw->tp_name, "() takes no arguments"));
  }
  return made;
}

const Slots& InstanceVariable::slots() const {
  static constexpr Slots kSlots =
      special::slots_of_class(get_attribute_of_object, set_attribute_of_object, special::call);
  return kSlots;
}

InstanceVariable::InstanceVariable(VarRef type) : type_(std::move(type)) {
  if (PyType_IsSubtype(raw_type(), &PyDict_Type) != 0)
    contents_ = std::make_shared<ContentsVariable>(DictVariable::Entries{});
}

std::string InstanceVariable::type_name() const { return raw_type()->tp_name; }

VarRef InstanceVariable::own(const std::string& name) const {
  for (const auto& [known, value] : own_)
    if (known == name) return value;
  return nullptr;
}

void InstanceVariable::set_own(const std::string& name, VarRef value) const {
  for (auto& [known, old] : own_)
    if (known == name) {
      old = std::move(value);
      return;
    }
  own_.emplace_back(name, std::move(value));
}

DictVariable::Entries InstanceVariable::members() const {
  DictVariable::Entries members;
  for (const auto& [name, value] : own_) members.emplace_back(text(name), value);
  return members;
}

bool InstanceVariable::erase_own(const std::string& name) const {
  return std::erase_if(own_, [&](const auto& entry) { return entry.first == name; }) != 0;
}

std::vector<VarRef> InstanceVariable::parts() const {
  std::vector<VarRef> values;
  for (const auto& [name, value] : own_) values.push_back(value);
  if (contents_)
    for (VarRef& value : contents_->parts()) values.push_back(std::move(value));
  return values;
}

namespace {

PyRef method_of(PyTypeObject& type, const char* name) {
  return owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&type), name));
}

// method(object, key, value) for each.
void write_calls(CodeWriter& w, const Variable& object, PyBorrow method,
                 const DictVariable::Entries& entries) {
  for (const auto& [key, value] : entries) {
    w.begin_call(method);
    w.value_of(object);
    w.value(key);
    w.value(value);
    w.end_call(3);
    w.emit(Opcode::POP_TOP);
  }
}

}  // namespace

// object.__new__(type): neither __init__ nor __setattr__ runs once more.
void InstanceVariable::rebuild(CodeWriter& w) const {
  w.begin_call(method_of(contents_ ? PyDict_Type : PyBaseObject_Type, "__new__"));
  w.value(type_);
  w.end_call(1);
}

void InstanceVariable::fill(CodeWriter& w) const {
  if (contents_) {
    const bool is_ordered = PyType_IsSubtype(raw_type(), &PyODict_Type) != 0;
    write_calls(w, *this, method_of(is_ordered ? PyODict_Type : PyDict_Type, "__setitem__"),
                static_cast<const DictVariable&>(*contents_).entries());
  }
  write_calls(w, *this, method_of(PyBaseObject_Type, "__setattr__"), members());
}

}  // namespace torchdyn
