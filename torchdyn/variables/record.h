// Calls that become nodes of the graph.
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// What the call gives for tensors without data tells what it gives. Breaks where that call raises:
// eager raises too, or the operator computes with values.
VarRef record_function(Translator& t, PyBorrow function, const CallArgs& args);
VarRef record_method(Translator& t, const VarRef& self, const std::string& name,
                     const CallArgs& args);

}  // namespace torchdyn
