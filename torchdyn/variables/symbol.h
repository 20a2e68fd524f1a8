// Numbers that depend on sizes which are left open.
//   VarRef sizes = sizes_of(t, x, "size");                     // (s0, 64)
//   VarRef more = call_of_symbols(t, operator_add, {{size, one}, {}});   // s0 + 1: a node
//   VarRef known = fixed(more);                                // 9: guards say that s0 is 8
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

// An int, float or bool; its value is torch's SymInt, SymFloat or SymBool.
class SymbolVariable : public Variable {
 public:
  SymbolVariable(PyRef node, PyRef value, SourceRef source = nullptr)
      : Variable(std::move(source)), node_(std::move(node)), value_(std::move(value)) {}

  const Slots& slots() const override;
  std::string type_name() const override;
  PyRef as_node(const Gil&) const override { return PyRef::to(node_); }
  PyRef as_stand_in(const Gil&) const override { return PyRef::to(value_); }
  PyTypeObject* type() const;
  PyBorrow value() const { return value_; }

 private:
  PyRef node_, value_;
};

// A slice with some among its parts.
class SliceVariable : public Variable {
 public:
  explicit SliceVariable(std::vector<VarRef> bounds) : bounds_(std::move(bounds)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "slice"; }
  std::vector<VarRef> parts() const override { return bounds_; }
  PyRef as_node(const Gil& gil) const override { return as_slice(gil, &Variable::as_node); }
  PyRef as_stand_in(const Gil& gil) const override { return as_slice(gil, &Variable::as_stand_in); }

 private:
  PyRef as_slice(const Gil& gil, PyRef (Variable::*as)(const Gil&) const) const;

  std::vector<VarRef> bounds_;
};

// Whether it is such a number, or one is in it.
bool mentions_symbol(const VarRef& value);
// Itself; as a constant where it mentions some, which are guarded to be what they are.
VarRef fixed(const VarRef& value);
// A function that does nothing but compute, of constants and such numbers. Null: it is no
// arithmetic, or Python raises.
VarRef call_of_symbols(Translator& t, PyBorrow function, const CallArgs& args);
// tensor.size() or tensor.stride(), by the method's name.
VarRef sizes_of(Translator& t, const VarRef& tensor, const char* method);

}  // namespace torchdyn
