// Constants: operations on them are done at once.
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/numpy_numbers.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

VarRef evaluate(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  return protocol::fold(t, function, {{left, right}, {}});
}

// What has no effects in any type of constants: attributes, and methods of constants.
class ConstantMethodVariable : public Variable {
 public:
  ConstantMethodVariable(VarRef self, PyRef method)
      : self_(std::move(self)), method_(std::move(method)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method of a constant"; }
  PyBorrow method() const { return method_; }
  void rebuild(CodeWriter& w) const override { w.constant(method_); }

 private:
  VarRef self_;
  PyRef method_;
};

VarRef call_method_of(Translator& t, const VarRef& self, const CallArgs& args) {
  return protocol::fold(t, static_cast<const ConstantMethodVariable&>(*self).method(), args);
}

const Slots& ConstantMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_method_of};
  return kSlots;
}

PyRef attribute_or_raise(Translator& t, PyBorrow object, const char* name) {
  try {
    return attribute(t.gil(), object, name);
  } catch (const PythonError&) {
    raise_python_error(t);
  }
}

VarRef get_attribute(Translator& t, const VarRef& self, const std::string& name) {
  PyRef value = attribute_or_raise(t, self->object(), name.c_str());
  if (PyCFunction_Check(value.get()))
    return std::make_shared<ConstantMethodVariable>(self, std::move(value));
  if (name == "__class__") {
    const SourceRef source = Source::fixed(value, Py_TYPE(self->object().get())->tp_name);
    return std::make_shared<ObjectVariable>(std::move(value), source);
  }
  if (!is_plain_constant(value))
    break_graph(BreakReason::kAttribute, self->type_name() + "." + name);
  return std::make_shared<ConstantVariable>(std::move(value));
}

VarRef item(Translator& t, const VarRef& self, const VarRef& key) {
  return evaluate(t, import_attribute(t.gil(), "operator", "getitem"), self, key);
}

// Tuples, sizes, ranges and strings; kMostItems keeps a range of millions from being unrolled.
VarRef iterate(Translator&, const VarRef& self) {
  constexpr Py_ssize_t kMostItems = 10'000;
  const Py_ssize_t count = PyObject_Size(self->object().get());
  if (count < 0) throw PythonError();
  if (count > kMostItems) break_graph(BreakReason::kLength, self->type_name());
  std::vector<VarRef> items;
  const PyRef all = owned(PySequence_List(self->object().get()));
  for (const PyBorrow item : items_of(all))
    items.push_back(std::make_shared<ConstantVariable>(PyRef::to(item)));
  return std::make_shared<SequenceIterator>(
      std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items)));
}

}  // namespace

const Slots& ConstantVariable::slots() const {
  static constexpr Slots kSlots{
      .getattro = get_attribute, .number = evaluate, .subscript = item, .iterate = iterate};
  return kSlots;
}

PyRef ConstantVariable::as_node(const Gil&) const { return plain_number(value_); }

std::string ConstantVariable::type_name() const { return Py_TYPE(value_.get())->tp_name; }

VarRef none() { return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_None))); }

VarRef boolean(bool value) {
  return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(value ? Py_True : Py_False)));
}

}  // namespace torchdyn
