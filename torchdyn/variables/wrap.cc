#include "torchdyn/variables/wrap.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/symbols.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/symbol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

// Functions and methods that ask for what the guards on tensors fix.
constexpr std::string_view kQuestions[] = {
    "dim",       "element_size", "is_complex", "is_contiguous", "is_floating_point",
    "is_tensor", "ndimension",   "nelement",   "numel",         "size",
    "stride"};

bool is_question(std::string_view name) {
  return std::find(std::begin(kQuestions), std::end(kQuestions), name) != std::end(kQuestions);
}

PyRef item_node(Translator& t, PyBorrow node, int index) {
  std::vector<PyRef> args;
  args.push_back(PyRef::to(node));
  args.push_back(owned(PyLong_FromLong(index)));
  return t.graph().call_function(t.gil(), import_attribute(t.gil(), "operator", "getitem"),
                                 tuple_of(args), PyRef());
}

// Larger ones are read item by item nowhere: they are objects like others.
constexpr Py_ssize_t kMostItems = 256;

void expect_shallow(const SourceRef& source) {
  int depth = 0;
  for (const Source* s = source.get(); s; s = s->base().get()) ++depth;
  if (depth > 100) break_graph(BreakReason::kValue, "a container that is in itself");
}

VarRef wrap_sequence(Translator& t, PyBorrow object, SourceRef source) {
  if (VarRef known = t.known(object, source)) return known;
  t.guards().add(source, *TypeIs::of(object));
  t.guards().add(source, Length{length(object)});
  std::vector<VarRef> items;
  for (const PyBorrow item : items_of(object)) {
    const int index = static_cast<int>(items.size());
    items.push_back(wrap(t, item, Source::element(source, index)));
  }
  return t.found(std::make_shared<SequenceVariable>(PyList_CheckExact(object.get()),
                                                    std::move(items), source, PyRef::to(object)),
                 object);
}

bool has_names_for_keys(PyBorrow dict) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict.get(), &at, &key, &value) != 0;)
    if (!PyUnicode_CheckExact(key)) return false;
  return true;
}

VarRef wrap_dict(Translator& t, PyBorrow object, SourceRef source) {
  if (VarRef known = t.known(object, source)) return known;
  std::vector<PyRef> keys;
  DictVariable::Entries entries;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(object.get(), &at, &key, &value) != 0;) {
    keys.push_back(PyRef::to(PyBorrow(key)));
    entries.emplace_back(std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(key))),
                         wrap(t, PyBorrow(value), Source::item(source, utf8(PyBorrow(key)))));
  }
  t.guards().add(source, Keys{tuple_of(keys), Py_TYPE(object.get())});
  VarRef made;
  if (PyDict_CheckExact(object.get())) {
    made = std::make_shared<DictVariable>(std::move(entries), source, PyRef::to(object));
  } else {
    made = std::make_shared<ContentsVariable>(std::move(entries), source, PyRef::to(object));
  }
  return t.found(std::move(made), object);
}

}  // namespace

VarRef wrap(Translator& t, PyBorrow object, SourceRef source) {
  if (is_plain_tensor(object)) return t.input(object, std::move(source));
  if (PyCell_Check(object.get()))
    return t.cell_from_outside(object, Source::cell(std::move(source)));
  if (PyLong_CheckExact(object.get()))
    if (VarRef open = t.number(object, source)) return open;
  if (is_plain_constant(object)) {
    t.guards().add(source, Equals{PyRef::to(object)});
    return std::make_shared<ConstantVariable>(PyRef::to(object), std::move(source));
  }
  if (length(object) >= 0) expect_shallow(source);
  const bool is_small = length(object) <= kMostItems;
  if (is_small && (PyTuple_CheckExact(object.get()) || PyList_CheckExact(object.get())))
    return wrap_sequence(t, object, std::move(source));
  if (is_small && !field_names(Py_TYPE(object.get())).empty()) {
    t.guards().add(source, *TypeIs::of(object));
    std::vector<VarRef> items;
    for (const PyBorrow item : items_of(object)) {
      const int index = static_cast<int>(items.size());
      items.push_back(wrap(t, item, Source::element(source, index)));
    }
    return std::make_shared<NamedTupleVariable>(
        PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(object.get())))), std::move(items),
        source);
  }
  if (is_small && PyDict_CheckExact(object.get()) && has_names_for_keys(object))
    return wrap_dict(t, object, std::move(source));
  t.effects().found(object, source);
  return std::make_shared<ObjectVariable>(PyRef::to(object), std::move(source));
}

VarRef wrap_contents(Translator& t, PyBorrow object, SourceRef source) {
  if (length(object) > kMostItems || !has_names_for_keys(object))
    break_graph(BreakReason::kValue, str_cat("what is in a ", Py_TYPE(object.get())->tp_name));
  return wrap_dict(t, object, std::move(source));
}

VarRef wrap_result(Translator& t, std::string_view name, PyRef node, PyBorrow result,
                   PyBorrow device) {
  if (is_tensor(result)) {
    if (VarRef known = t.with_stand_in(result)) return known;
    const PyRef type = import_attribute(t.gil(), "torch", "Tensor");
    return t.remember(
        std::make_shared<TensorVariable>(std::move(node), PyRef::to(result), PyRef::to(device),
                                         reinterpret_cast<PyTypeObject*>(type.get())));
  }
  if (is_question(name) && is_symbolic(result)) {
    t.graph().computes_no_tensor();
    return std::make_shared<SymbolVariable>(std::move(node), PyRef::to(result));
  }
  if (is_question(name)) {
    t.graph().erase(t.gil(), node);
    return std::make_shared<ConstantVariable>(PyRef::to(result));
  }
  if (name == "getitem" && result.get() == Py_None)
    return std::make_shared<ConstantVariable>(PyRef::to(result));
  const bool is_named = !field_names(Py_TYPE(result.get())).empty();
  if (PyTuple_CheckExact(result.get()) || PyList_CheckExact(result.get()) || is_named) {
    std::vector<VarRef> items;
    for (const PyBorrow item : items_of(result)) {
      const int index = static_cast<int>(items.size());
      items.push_back(wrap_result(t, "getitem", item_node(t, node, index), item, device));
    }
    if (is_named)
      return std::make_shared<NamedTupleVariable>(
          PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(result.get())))),
          std::move(items));
    return std::make_shared<SequenceVariable>(PyList_CheckExact(result.get()), std::move(items));
  }
  break_graph(BreakReason::kResult, str_cat(name, " gives ", Py_TYPE(result.get())->tp_name));
}

}  // namespace torchdyn
