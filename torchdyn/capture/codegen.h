// The code that a captured frame runs instead of its own: calls what its graph was compiled to.
//   PyRef code = replacement_code(gil, frame.code(), graph.inputs(), compiled, results, result);
#pragma once

#include <vector>

#include "torchdyn/capture/output_graph.h"
#include "torchdyn/cpython/abi.h"
#include "torchdyn/variables/variable.h"

namespace torchdyn {

// `compiled` takes the inputs and gives a tuple of `results`, tensors that the frame made; `result`
// is what the frame returns, made of them, of inputs and of constants.
PyRef returning_code(const Gil&, CodeView code, const std::vector<OutputGraph::Input>& inputs,
                     PyBorrow compiled, const std::vector<VarRef>& results, const VarRef& result);

}  // namespace torchdyn
