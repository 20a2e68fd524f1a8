// contextvars.ContextVar: what the frame sets in the thread's context, and takes back.
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

// What a set() gives, for a reset(). CPython: Python/context.c, PyContextVar_Set.
class ContextTokenVariable : public Variable {
 public:
  ContextTokenVariable(VarRef variable, VarRef value, VarRef before)
      : variable_(std::move(variable)), value_(std::move(value)), before_(std::move(before)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "Token"; }
  std::vector<VarRef> parts() const override;
  // Sets the variable, after those that were set before and are still.
  void rebuild(CodeWriter& w) const override;
  const VarRef& variable() const { return variable_; }
  const VarRef& value() const { return value_; }
  const VarRef& before() const { return before_; }  // null: what the frame found

 private:
  VarRef variable_, value_, before_;
};

// A method of a variable from outside; null: the descriptor is none of a ContextVar's.
VarRef method_of_context_variable(const VarRef& self, PyBorrow descriptor);

}  // namespace torchdyn
