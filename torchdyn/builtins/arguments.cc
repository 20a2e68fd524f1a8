#include "torchdyn/builtins/arguments.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"

namespace torchdyn {

void unknown_arguments(PyBorrow function, std::string_view why) {
  const char* const name = PyType_Check(function.get())
                               ? reinterpret_cast<PyTypeObject*>(function.get())->tp_name
                               : PyEval_GetFuncName(function.get());
  break_graph(BreakReason::kCall, aten_bridge::str_cat(name, " ", why));
}

void expect_positional(PyBorrow function, const CallArgs& args, size_t least, size_t most) {
  if (!args.named.empty() || args.positional.size() < least || args.positional.size() > most)
    unknown_arguments(function, "with these arguments");
}

}  // namespace torchdyn
