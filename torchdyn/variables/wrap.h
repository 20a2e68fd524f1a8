// From objects to variables.
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// What the frame finds at `source`, guarded by what is used of it.
VarRef wrap(Translator& t, PyBorrow object, SourceRef source);
// What an object of a class that extends dict holds as one.
VarRef wrap_contents(Translator& t, PyBorrow object, SourceRef source);
// What a call of `name` in the graph gives: `result` is what it gave for tensors without data.
// Breaks where that is no tensor and may be another for tensors with data.
VarRef wrap_result(Translator& t, std::string_view name, PyRef node, PyBorrow result,
                   PyBorrow device);

}  // namespace torchdyn
