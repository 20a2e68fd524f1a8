// Tensors: operations on them are nodes of the graph.
#include <algorithm>
#include <array>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/record.h"
#include "torchdyn/variables/symbol.h"
#include "torchdyn/variables/tensor_types.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

template <size_t n>
bool is_among(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Fixed by the guards on tensors.
constexpr std::array<std::string_view, 9> kConstants = {
    "dtype",  "is_nested", "is_quantized",  "is_sparse", "itemsize",
    "layout", "ndim",      "requires_grad", "shape"};
constexpr std::array<std::string_view, 6> kViews = {"H", "T", "imag", "mH", "mT", "real"};

constexpr std::array<std::string_view, 3> kOfDevices = {"is_cpu", "is_cuda", "is_meta"};

bool is_on(const TensorVariable& tensor, const std::string& kind) {
  return text_of(tensor.device()).starts_with(kind);
}

// Methods that do more than compute, or whose result is no tensor's.
constexpr std::array<std::string_view, 18> kNotRecorded = {"apply_",
                                                           "map_",
                                                           "map2_",
                                                           "record_stream",
                                                           "register_post_accumulate_grad_hook",
                                                           "as_subclass",
                                                           "backward",
                                                           "data_ptr",
                                                           "item",
                                                           "numpy",
                                                           "register_hook",
                                                           "requires_grad_",
                                                           "retain_grad",
                                                           "set_",
                                                           "share_memory_",
                                                           "storage",
                                                           "tolist",
                                                           "untyped_storage"};

bool is_method(Translator& t, const std::string& attribute_name) {
  const PyRef type = import_attribute(t.gil(), "torch", "Tensor");
  const PyBorrow found =
      type_attribute(reinterpret_cast<PyTypeObject*>(type.get()), name(attribute_name));
  return found && !is_data_descriptor(found) && PyCallable_Check(found.get()) != 0;
}

VarRef get_attribute(Translator& t, const VarRef& self, const std::string& name) {
  const PyRef like = self->as_stand_in(t.gil());
  if (name == "shape" && t.symbols()) return sizes_of(t, self, "size");
  if (is_among(kConstants, name))
    return std::make_shared<ConstantVariable>(attribute(t.gil(), like, name.c_str()));
  if (name == "device")
    return std::make_shared<ConstantVariable>(
        PyRef::to(static_cast<const TensorVariable&>(*self).device()));
  if (is_among(kOfDevices, name))
    return boolean(is_on(static_cast<const TensorVariable&>(*self), name.substr(3)));
  if (is_among(kViews, name)) {
    const VarRef text = std::make_shared<ConstantVariable>(torchdyn::name(name));
    return record_function(t, import_attribute(t.gil(), "builtins", "getattr"), {{self, text}, {}});
  }
  // The same memory, without a gradient; only the count of versions is another.
  if (name == "data") return record_method(t, self, "detach", {});
  if (name.starts_with('_') || !is_method(t, name))
    break_graph(BreakReason::kAttribute, str_cat("Tensor.", name));
  return std::make_shared<TensorMethodVariable>(self, name);
}

// Whether two stand-ins have the same memory, read alike.
bool are_one(const Gil& gil, PyBorrow a, PyBorrow b) {
  const auto memory = [&](PyBorrow tensor) {
    std::vector<PyRef> parts;
    parts.push_back(attribute(gil, call_method(gil, tensor, "untyped_storage", {}), "_cdata"));
    parts.push_back(attribute(gil, tensor, "dtype"));
    for (const char* method : {"size", "stride", "storage_offset"})
      parts.push_back(call_method(gil, tensor, method, {}));
    return tuple_of(parts);
  };
  const int answer = PyObject_RichCompareBool(memory(a).get(), memory(b).get(), Py_EQ);
  if (answer < 0) throw PythonError();
  return answer == 1;
}

// `x.data *= mask`: where the memory is the tensor's own, nothing changes.
void set_attribute(Translator& t, const VarRef& self, const std::string& name,
                   const VarRef& value) {
  const auto* const tensor = dynamic_cast<const TensorVariable*>(value.get());
  if (name != "data" || !tensor ||
      !are_one(t.gil(), static_cast<const TensorVariable&>(*self).like(), tensor->like()))
    break_graph(BreakReason::kSideEffect, str_cat("Tensor.", name));
}

// What is no tensor is not changed in place: torch.fx writes `left += right` for operator.iadd.
VarRef number(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  const std::string name = text_of(attribute(t.gil(), function, "__name__"));
  const bool is_in_place = name.size() > 3 && name.starts_with('i') && name != "invert";
  if (is_in_place && !dynamic_cast<const TensorVariable*>(left.get()))
    return record_function(t, import_attribute(t.gil(), "operator", name.c_str() + 1),
                           {{left, right}, {}});
  return record_function(t, function, {{left, right}, {}});
}

VarRef get_item(Translator& t, const VarRef& self, const VarRef& key) {
  return record_function(t, import_attribute(t.gil(), "operator", "getitem"), {{self, key}, {}});
}

void set_item(Translator& t, const VarRef& self, const VarRef& key, const VarRef& value) {
  record_change(t, import_attribute(t.gil(), "operator", "setitem"), {{self, key, value}, {}});
}

// CPython's iterator asks for one row after the other; what they are is known.
VarRef iterate(Translator& t, const VarRef& self) {
  const VarRef rows = record_method(t, self, "unbind", {});
  return std::make_shared<SequenceIterator>(rows);
}

VarRef length(Translator& t, const VarRef& self) {
  if (t.symbols()) {
    const VarRef first = std::make_shared<ConstantVariable>(owned(PyLong_FromLong(0)));
    return record_method(t, self, "size", {{first}, {}});
  }
  const PyRef count = owned(PyLong_FromSsize_t(PyObject_Size(self->as_stand_in(t.gil()).get())));
  if (PyErr_Occurred()) throw PythonError();
  return std::make_shared<ConstantVariable>(PyRef::to(count));
}

VarRef call_method_of(Translator& t, const VarRef& self, const CallArgs& args) {
  const auto& method = static_cast<const TensorMethodVariable&>(*self);
  if (is_among(kNotRecorded, method.name()))
    break_graph(BreakReason::kCall, str_cat("Tensor.", method.name()));
  if (method.name() == "type") return call_type(t, method.self(), args);
  return record_method(t, method.self(), method.name(), args);
}

}  // namespace

PyRef TensorVariable::as_node(const Gil&) const {
  if (!node_) break_graph(BreakReason::kValue, "a tensor of a graph within the graph");
  return PyRef::to(node_);
}

const Slots& TensorVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute,
                                .setattro = set_attribute,
                                .number = number,
                                .subscript = get_item,
                                .set_item = set_item,
                                .iterate = iterate,
                                .length = length};
  return kSlots;
}

void TensorMethodVariable::rebuild(CodeWriter& w) const {
  w.value(self_);
  w.attribute(torchdyn::name(name_));
}

const Slots& TensorMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_method_of};
  return kSlots;
}

}  // namespace torchdyn
