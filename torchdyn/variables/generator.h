// Generators that the frame made: their instructions run as their values are asked for.
#pragma once

#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {

class GeneratorVariable : public IteratorVariable {
 public:
  explicit GeneratorVariable(std::list<Activation> suspended) : suspended_(std::move(suspended)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "generator"; }
  VarRef next(Translator& t) const override;
  // Goes on with a value that is sent; or by an exception. Null: there is no more.
  VarRef send(Translator& t, const VarRef& value) const;
  VarRef throw_into(Translator& t, const Raised& raised) const;
  bool has_ended() const { return suspended_.empty(); }
  const VarRef& returned() const { return returned_; }  // null: it has not ended so

 private:
  mutable std::list<Activation> suspended_;  // one; none: it has ended, or runs
  mutable VarRef returned_;
};

// StopIteration, with what the iterator returned, where it is a generator.
[[noreturn]] void raise_stop_iteration(Translator& t, const VarRef& iterator);

}  // namespace torchdyn
