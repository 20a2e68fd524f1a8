// Calls of Python functions: their instructions run as if they stood in the caller.
//   VarRef y = inline_call(t, function, {{x}, {}});      // an ObjectVariable that is a function
//   VarRef z = inline_call(t, made, {{x}, {}});          // a FunctionVariable
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

VarRef inline_call(Translator& t, const FunctionVariable& function, const CallArgs& args);
// A function from outside, guarded by what is used of it.
VarRef inline_call(Translator& t, const ObjectVariable& function, const CallArgs& args);

}  // namespace torchdyn
