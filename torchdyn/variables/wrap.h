// From objects to variables.
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// What the frame finds at `source`, guarded by what is used of it.
VarRef wrap(Translator& t, PyBorrow object, SourceRef source);
// What a call in the graph gives: `result` is what it gave for tensors without data.
VarRef wrap_result(Translator& t, PyRef node, PyBorrow result);

}  // namespace torchdyn
