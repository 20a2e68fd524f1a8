// The kinds of values.
//   VarRef one = constant(PyRef);              // None, numbers, strings, dtypes, sizes
//   VarRef x = tensor(node, stand_in, source);
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

class ConstantVariable : public Variable {
 public:
  explicit ConstantVariable(PyRef value, SourceRef source = nullptr)
      : Variable(std::move(source)), value_(std::move(value)) {}

  const Slots& slots() const override;
  std::string type_name() const override;
  PyRef as_node(const Gil&) const override { return PyRef::to(value_); }
  PyRef as_stand_in(const Gil&) const override { return PyRef::to(value_); }
  PyBorrow object() const override { return value_; }

 private:
  PyRef value_;
};

class TensorVariable : public Variable {
 public:
  TensorVariable(PyRef node, PyRef stand_in, SourceRef source = nullptr)
      : Variable(std::move(source)), node_(std::move(node)), stand_in_(std::move(stand_in)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "Tensor"; }
  PyRef as_node(const Gil&) const override { return PyRef::to(node_); }
  PyRef as_stand_in(const Gil&) const override { return PyRef::to(stand_in_); }
  PyBorrow node() const { return node_; }
  PyBorrow like() const { return stand_in_; }

 private:
  PyRef node_, stand_in_;
};

// x.relu, before it is called.
class TensorMethodVariable : public Variable {
 public:
  TensorMethodVariable(VarRef self, std::string name)
      : self_(std::move(self)), name_(std::move(name)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method of a Tensor"; }
  const VarRef& self() const { return self_; }
  const std::string& name() const { return name_; }

 private:
  VarRef self_;
  std::string name_;
};

// A tuple or list that the frame made, or that a call gave.
class SequenceVariable : public Variable {
 public:
  SequenceVariable(bool is_list, std::vector<VarRef> items)
      : is_list_(is_list), items_(std::move(items)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return is_list_ ? "list" : "tuple"; }
  PyRef as_node(const Gil&) const override;
  PyRef as_stand_in(const Gil&) const override;
  const std::vector<VarRef>* items() const override { return &items_; }
  bool is_list() const { return is_list_; }

 private:
  bool is_list_;
  std::vector<VarRef> items_;
};

// An object from outside: a module of Python or of torch.nn, a function, an instance.
class ObjectVariable : public Variable {
 public:
  ObjectVariable(PyRef object, SourceRef source)
      : Variable(std::move(source)), object_(std::move(object)) {}

  const Slots& slots() const override;
  std::string type_name() const override;
  PyBorrow object() const override { return object_; }

 private:
  PyRef object_;
};

}  // namespace torchdyn
