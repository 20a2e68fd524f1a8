// copy.deepcopy, by the module's own algorithm. CPython: Lib/copy.py.
#include "aten_bridge/base/hash_map.h"
#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using Copies = aten_bridge::HashMap<const Variable*, VarRef>;

VarRef deep_copy(Translator& t, const VarRef& value, Copies* known);

std::vector<VarRef> deep_copies(Translator& t, const std::vector<VarRef>& values, Copies* known) {
  std::vector<VarRef> copies;
  for (const VarRef& value : values) copies.push_back(deep_copy(t, value, known));
  return copies;
}

DictVariable::Entries deep_copies(Translator& t, DictVariable::Entries entries, Copies* known) {
  for (auto& [key, value] : entries) value = deep_copy(t, value, known);
  return entries;
}

// _deepcopy_atomic: functions, types.
bool is_atomic(const VarRef& value) {
  if (dynamic_cast<const ConstantVariable*>(value.get()) ||
      dynamic_cast<const FunctionVariable*>(value.get()))
    return true;
  const PyBorrow object = value->object();
  return object && (PyType_Check(object.get()) || PyFunction_Check(object.get()) ||
                    PyCFunction_Check(object.get()) || PyWeakref_CheckRefExact(object.get()));
}

// What object.__reduce_ex__ takes apart and puts together again: a dict of attributes, no more.
constexpr const char* kOfObject[] = {"__reduce_ex__", "__reduce__", "__getstate__"};
constexpr const char* kOfOthers[] = {"__setstate__", "__getnewargs__", "__getnewargs_ex__"};

bool is_plain(PyTypeObject* type) {
  for (const char* name : kOfObject)
    if (type_attribute(type, torchdyn::name(name)) !=
        type_attribute(&PyBaseObject_Type, torchdyn::name(name)))
      return false;
  for (const char* name : kOfOthers)
    if (type_attribute(type, torchdyn::name(name))) return false;
  const bool has_slots = type_attribute(type, torchdyn::name("__slots__")).get() != nullptr;
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !has_slots &&
         type->tp_new == PyBaseObject_Type.tp_new && type->tp_itemsize == 0;
}

// copyreg.dispatch_table says how instances of some classes are taken apart.
void expect_no_reduction(Translator& t, PyBorrow type) {
  const SourceRef source = Source::member(Source::module("copyreg"), "dispatch_table");
  auto holds = Holds::of(source->read(t.frame()), type);
  if (!holds || holds->is_there)
    break_graph(BreakReason::kCall, "copy.deepcopy of what copyreg takes apart");
  t.guards().add(source, std::move(*holds));
}

DictVariable::Entries members_of(Translator& t, const VarRef& self) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return made->members();
  if (t.effects().changes(self->object()))
    break_graph(BreakReason::kCall, "copy.deepcopy of what has been changed");
  const VarRef members = wrap(t, dict_of(self->object()), Source::dict(self->source()));
  const auto* const dict = dynamic_cast<const DictVariable*>(members.get());
  if (!dict) break_graph(BreakReason::kValue, "the __dict__ of a " + self->type_name());
  return dict->entries();
}

VarRef copy_of_object(Translator& t, const VarRef& self, Copies* known) {
  PyTypeObject* const type = type_of_object(*self);
  if (const VarRef method = special_method(t, self, "__deepcopy__"))
    return protocol::call(t, method,
                          {{std::make_shared<DictVariable>(DictVariable::Entries{})}, {}});
  if (!is_plain(type) || contents_of(t, self))
    break_graph(BreakReason::kCall, "copy.deepcopy of a " + self->type_name());
  expect_no_reduction(t, PyBorrow(reinterpret_cast<PyObject*>(type)));
  auto made = std::make_shared<InstanceVariable>(type_of(t, self));
  known->emplace(self.get(), made);
  for (auto& [name, value] : deep_copies(t, members_of(t, self), known))
    made->set_own(std::string(utf8(name->object())), value);
  return made;
}

VarRef copy_of_sequence(Translator& t, const SequenceVariable& self, const VarRef& value,
                        Copies* known) {
  std::vector<VarRef> items = deep_copies(t, *self.items(), known);
  if (!self.is_list() && items == *self.items()) return value;
  if (const auto* const named = dynamic_cast<const NamedTupleVariable*>(&self))
    return std::make_shared<NamedTupleVariable>(
        PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(named->type()))), std::move(items));
  return std::make_shared<SequenceVariable>(self.is_list(), std::move(items));
}

VarRef deep_copy(Translator& t, const VarRef& value, Copies* known) {
  if (is_atomic(value)) return value;
  if (const auto found = known->find(value.get()); found != known->end()) return found->second;
  VarRef copy;
  if (const auto* const sequence = dynamic_cast<const SequenceVariable*>(value.get())) {
    copy = copy_of_sequence(t, *sequence, value, known);
  } else if (const auto* const members = dynamic_cast<const MembersVariable*>(value.get())) {
    copy = std::make_shared<DictVariable>(deep_copies(t, members_of(t, members->self()), known));
  } else if (const auto* const dict = dynamic_cast<const DictVariable*>(value.get());
             dict && !dynamic_cast<const ContentsVariable*>(dict)) {
    copy = std::make_shared<DictVariable>(deep_copies(t, dict->entries(), known));
  } else if (is_object(value)) {
    copy = copy_of_object(t, value, known);
  } else {
    break_graph(BreakReason::kCall, "copy.deepcopy of a " + value->type_name());
  }
  known->emplace(value.get(), copy);
  return copy;
}

VarRef deepcopy(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  Copies known;
  return deep_copy(t, args.positional[0], &known);
}

constexpr BuiltinRow kRows[] = {{"copy", "deepcopy", deepcopy}};

}  // namespace

const std::span<const BuiltinRow> kCopyBuiltins = kRows;

}  // namespace torchdyn
