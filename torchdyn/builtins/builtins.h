// Builtin functions and types that capture knows, as rows: builtins/table.cc.
//   if (BuiltinHandler handler = builtin_handler(gil, object)) return handler(t, object, args);
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

using BuiltinHandler = VarRef (*)(Translator&, PyBorrow function, const CallArgs& args);

BuiltinHandler builtin_handler(const Gil&, PyBorrow object);  // null: it has no row

}  // namespace torchdyn
