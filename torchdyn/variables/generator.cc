#include "torchdyn/variables/generator.h"

namespace torchdyn {

// CPython: Objects/genobject.c, gen_send_ex2, with None.
VarRef GeneratorVariable::next(Translator& t) const {
  return suspended_.empty() ? nullptr : t.resume(&suspended_);
}

}  // namespace torchdyn
