// Tuples and lists.
#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

const SequenceVariable& sequence_of(const VarRef& self) {
  return static_cast<const SequenceVariable&>(*self);
}

// Of a torch.Size a part, and a sum, is one, too.
VarRef like(const SequenceVariable& self, std::vector<VarRef> items) {
  const auto* const named = dynamic_cast<const NamedTupleVariable*>(&self);
  if (!named || std::string_view(named->type()->tp_name) != "torch.Size")
    return std::make_shared<SequenceVariable>(self.is_list(), std::move(items));
  PyRef type = PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(named->type())));
  return std::make_shared<NamedTupleVariable>(std::move(type), std::move(items));
}

VarRef slice_of(const SequenceVariable& self, PyBorrow slice) {
  const auto size = static_cast<Py_ssize_t>(self.items()->size());
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) != 0) throw PythonError();
  const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
  std::vector<VarRef> items;
  for (Py_ssize_t n = 0; n < count; ++n) items.push_back((*self.items())[start + n * step]);
  return like(self, std::move(items));
}

size_t index_of(Translator& t, const VarRef& self, const VarRef& key) {
  if (!key->object() || !PyLong_Check(key->object().get()))
    break_graph(BreakReason::kValue, "an index that is no number");
  long index = PyLong_AsLong(key->object().get());
  if (PyErr_Occurred()) throw PythonError();
  const long size = static_cast<long>(self->items()->size());
  if (index < 0) index += size;
  if (index < 0 || index >= size)
    raise(t, PyBorrow(PyExc_IndexError),
          sequence_of(self).is_list() ? "list index out of range" : "tuple index out of range");
  return static_cast<size_t>(index);
}

// CPython: Objects/tupleobject.c, tuplesubscript.
VarRef item(Translator& t, const VarRef& self, const VarRef& key) {
  if (key->object() && PySlice_Check(key->object().get()))
    return slice_of(sequence_of(self), key->object());
  return (*self->items())[index_of(t, self, key)];
}

// CPython: Objects/listobject.c, list_ass_subscript: other values in the place of some, of any
// number where these lie side by side.
void set_slice(Translator& t, const VarRef& self, PyBorrow slice, const VarRef& value) {
  std::vector<VarRef> values = protocol::all_items(t, value);
  for (const VarRef& item : values) protocol::change(t, self, item);
  std::vector<VarRef>& items = sequence_of(self).contents();
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) != 0) throw PythonError();
  const auto count = static_cast<size_t>(
      PySlice_AdjustIndices(static_cast<Py_ssize_t>(items.size()), &start, &stop, step));
  if (step != 1 && count != values.size())
    raise(t, PyBorrow(PyExc_ValueError),
          str_cat("attempt to assign sequence of size ", values.size(),
                  " to extended slice of size ", count));
  protocol::change(t, self, nullptr);
  if (step != 1) {
    for (size_t n = 0; n < count; ++n) items[start + static_cast<Py_ssize_t>(n) * step] = values[n];
    return;
  }
  items.erase(items.begin() + start, items.begin() + std::max(start, stop));
  items.insert(items.begin() + start, values.begin(), values.end());
}

void set_item(Translator& t, const VarRef& self, const VarRef& key, const VarRef& value) {
  if (sequence_of(self).is_list() && key->object() && PySlice_Check(key->object().get()))
    return set_slice(t, self, key->object(), value);
  protocol::change(t, self, value);
  if (!sequence_of(self).is_list()) break_graph(BreakReason::kRaises, "a tuple is written to");
  sequence_of(self).contents()[index_of(t, self, key)] = value;
}

VarRef iterate(Translator&, const VarRef& self) { return std::make_shared<SequenceIterator>(self); }

VarRef length(Translator&, const VarRef& self) {
  return std::make_shared<ConstantVariable>(owned(PyLong_FromSize_t(self->items()->size())));
}

// A constant tuple as one of its items.
VarRef with_items(const VarRef& value) {
  if (!dynamic_cast<const ConstantVariable*>(value.get()) || !PyTuple_Check(value->object().get()))
    return value;
  std::vector<VarRef> items;
  for (const PyBorrow item : items_of(value->object()))
    items.push_back(protocol::from_constant(PyRef::to(item)));
  if (PyTuple_CheckExact(value->object().get()))
    return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items));
  PyRef type = PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(value->object().get()))));
  return std::make_shared<NamedTupleVariable>(std::move(type), std::move(items));
}

bool has_equality_of_its_own(const SequenceVariable& s) {
  const auto* const named = dynamic_cast<const NamedTupleVariable*>(&s);
  return named && named->type()->tp_richcompare != PyTuple_Type.tp_richcompare;
}

// CPython: Objects/tupleobject.c, tuplerichcompare; Objects/listobject.c, list_richcompare.
bool are_equal(Translator& t, const SequenceVariable& a, const SequenceVariable& b) {
  const std::vector<VarRef>&left = *a.items(), &right = *b.items();
  if (left.size() != right.size()) return false;
  for (size_t n = 0; n < left.size(); ++n)
    if (left[n] != right[n] && !protocol::truth(t, protocol::number(t, "eq", left[n], right[n])))
      return false;
  return true;
}

// CPython: Objects/tupleobject.c, tuplerepeat; Objects/listobject.c, list_repeat and
// list_inplace_repeat.
VarRef repeated(Translator& t, bool is_in_place, const VarRef& sequence, PyBorrow times) {
  const long count = PyLong_AsLong(times.get());
  if (PyErr_Occurred()) throw PythonError();
  constexpr size_t kMostItems = 10'000;
  const std::vector<VarRef> once = *sequence->items();
  if (count > 0 && once.size() * static_cast<size_t>(count) > kMostItems)
    break_graph(BreakReason::kLength, sequence->type_name());
  std::vector<VarRef> items;
  for (long n = 0; n < count; ++n) items.insert(items.end(), once.begin(), once.end());
  const SequenceVariable& old = sequence_of(sequence);
  if (!is_in_place || !old.is_list())
    return std::make_shared<SequenceVariable>(old.is_list(), std::move(items));
  protocol::change(t, sequence, nullptr);
  old.contents() = std::move(items);
  return sequence;
}

bool is_integer(const VarRef& value) {
  return value->object() && PyLong_Check(value->object().get());
}

// What CPython does with the objects themselves; null: one of them is not made of constants.
VarRef of_constants(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  if (!protocol::as_constant(left) || !protocol::as_constant(right)) return nullptr;
  return protocol::fold(t, function, {{left, right}, {}});
}

// CPython: Objects/listobject.c, list_inplace_concat.
VarRef extended(Translator& t, const VarRef& list, const VarRef& more) {
  const std::vector<VarRef> items = protocol::all_items(t, more);
  for (const VarRef& item : items) protocol::change(t, list, item);
  std::vector<VarRef>& all = sequence_of(list).contents();
  all.insert(all.end(), items.begin(), items.end());
  return list;
}

// CPython: Objects/tupleobject.c, tupleconcat; Objects/listobject.c, list_concat. A torch.Size is a
// constant, which adds and compares as it does.
VarRef number(Translator& t, PyBorrow function, const VarRef& left, const VarRef& other) {
  const std::string name = text_of(attribute(t.gil(), function, "__name__"));
  const VarRef right = with_items(other);
  const auto* const a = dynamic_cast<const SequenceVariable*>(left.get());
  const auto* const b = dynamic_cast<const SequenceVariable*>(right.get());
  if (name == "mul" && b && is_integer(left)) return repeated(t, false, right, left->object());
  if ((name == "mul" || name == "imul") && a && is_integer(right))
    return repeated(t, name == "imul", left, right->object());
  if (name == "iadd" && a && a->is_list()) return extended(t, left, right);
  const bool are_alike = a && b && a->is_list() == b->is_list();
  const bool is_equality = name == "eq" || name == "ne";
  if (are_alike && is_equality && !has_equality_of_its_own(*a) && !has_equality_of_its_own(*b))
    return boolean(are_equal(t, *a, *b) == (name == "eq"));
  if (are_alike && (name == "add" || name == "iadd")) {
    std::vector<VarRef> items = *a->items();
    items.insert(items.end(), b->items()->begin(), b->items()->end());
    return like(*a, std::move(items));
  }
  if (VarRef value = of_constants(t, function, left, other)) return value;
  break_graph(BreakReason::kValue,
              str_cat(left->type_name(), " and ", right->type_name(), " of operator.", name));
}

VarRef get_attribute(Translator&, const VarRef& self, const std::string& name) {
  return std::make_shared<ContainerMethodVariable>(self, name);
}

PyRef as_sequence(bool is_list, const std::vector<PyRef>& items) {
  PyRef tuple = tuple_of(items);
  return is_list ? owned(PySequence_List(tuple.get())) : std::move(tuple);
}

}  // namespace

const Slots& SequenceVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute,
                                .number = number,
                                .subscript = item,
                                .set_item = set_item,
                                .iterate = iterate,
                                .length = length};
  return kSlots;
}

void SequenceVariable::rebuild(CodeWriter& w) const {
  for (const VarRef& item : items_) w.value(item);
  w.emit(is_list_ ? Opcode::BUILD_LIST : Opcode::BUILD_TUPLE, static_cast<uint32_t>(items_.size()));
}

namespace {

VarRef get_named(Translator& t, const VarRef& self, const std::string& name) {
  const auto& named = static_cast<const NamedTupleVariable&>(*self);
  const std::vector<std::string> fields = field_names(named.type());
  const auto found = std::find(fields.begin(), fields.end(), name);
  if (found != fields.end()) return (*self->items())[found - fields.begin()];
  if (name == "_fields") {
    std::vector<VarRef> names;
    for (const std::string& field : fields)
      names.push_back(std::make_shared<ConstantVariable>(torchdyn::name(field)));
    return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(names));
  }
  return get_attribute(t, self, name);
}

}  // namespace

const Slots& NamedTupleVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_named,
                                .number = number,
                                .subscript = item,
                                .iterate = iterate,
                                .length = length};
  return kSlots;
}

// type._make(items), or type(items): what each has.
void NamedTupleVariable::rebuild(CodeWriter& w) const {
  const bool is_namedtuple = type()->tp_new != PyTuple_Type.tp_new &&
                             type_attribute(type(), name("_make")).get() != nullptr;
  w.begin_call(is_namedtuple ? owned(PyObject_GetAttrString(type_.get(), "_make"))
                             : PyRef::to(type_));
  SequenceVariable::rebuild(w);
  w.end_call(1);
}

PyRef SequenceVariable::as_node(const Gil& gil) const {
  std::vector<PyRef> nodes;
  for (const VarRef& item : items_) nodes.push_back(item->as_node(gil));
  return as_sequence(is_list_, nodes);
}

PyRef SequenceVariable::as_stand_in(const Gil& gil) const {
  std::vector<PyRef> values;
  for (const VarRef& item : items_) values.push_back(item->as_stand_in(gil));
  return as_sequence(is_list_, values);
}

}  // namespace torchdyn
