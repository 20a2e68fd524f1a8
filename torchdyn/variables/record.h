// Calls that become nodes of the graph.
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// What the call gives for tensors without data tells what it gives. Breaks where that call raises:
// eager raises too, or the operator computes with values.
// A factory makes tensors of none; where it does so is told apart from where its stand-in is.
VarRef record_function(Translator& t, PyBorrow function, const CallArgs& args,
                       bool is_factory = false);
// One that gives nothing: operator.setitem, changes of modes.
void record_change(Translator& t, PyBorrow function, const CallArgs& args);
VarRef record_method(Translator& t, const VarRef& self, const std::string& name,
                     const CallArgs& args);

}  // namespace torchdyn
