// Generators that the frame made: their instructions run as their values are asked for.
#pragma once

#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {

class GeneratorVariable : public IteratorVariable {
 public:
  explicit GeneratorVariable(std::list<Activation> suspended) : suspended_(std::move(suspended)) {}

  std::string type_name() const override { return "generator"; }
  VarRef next(Translator& t) const override;

 private:
  mutable std::list<Activation> suspended_;  // one; none: it has ended, or runs
};

}  // namespace torchdyn
