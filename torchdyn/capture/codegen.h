// The code that a frame runs instead of its own when it was captured whole.
//   PyRef code = returning_code(gil, t, compiled, results, result);
#pragma once

#include <vector>

#include "torchdyn/capture/translator.h"

namespace torchdyn {

// `compiled` takes the graph's inputs and gives a tuple of `results`, tensors that the frame made;
// null: there is no graph. `result` is what the frame returns, made of them, of inputs and of
// constants.
PyRef returning_code(const Gil&, const Translator& t, PyBorrow compiled,
                     const std::vector<VarRef>& results, const VarRef& result);

// Raises RuntimeError(message) instead.
PyRef raising_code(const Gil&, CodeView code, const std::string& message);

}  // namespace torchdyn
