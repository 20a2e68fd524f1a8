// Builtin functions and types that capture knows, as rows by family.
//   if (BuiltinHandler handler = builtin_handler(gil, object)) return handler(t, object, args);
#pragma once

#include <span>

#include "torchdyn/variables/variable.h"

namespace torchdyn {

using BuiltinHandler = VarRef (*)(Translator&, PyBorrow function, const CallArgs& args);

// A method of a class in Python is "class.method".
struct BuiltinRow {
  const char *module, *name;
  BuiltinHandler handler;
};

BuiltinHandler builtin_handler(const Gil&, PyBorrow object);  // null: it has no row

extern const std::span<const BuiltinRow> kIterationBuiltins, kObjectBuiltins, kConstantBuiltins,
    kCopyBuiltins, kHigherOrderBuiltins, kLibraryBuiltins, kModeBuiltins, kSignatureBuiltins,
    kTorchBuiltins;

}  // namespace torchdyn
