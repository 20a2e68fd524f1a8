// For a custom operator that writes to arguments: one that returns what would be written.
//   custom::fill_(Tensor(a!) x, int row) -> ()
//   functional_twin(op)   // torchdyn_functional::custom_fill_(Tensor x, int row) -> Tensor
//   call_functionally(op, stack);   // the twin's call, its results copied into the arguments
//
// LibTorch's functionalization refuses such operators. The twin is registered with the dispatcher
// when it is first met, so that graphs name it as they name any operator. A result that is an
// argument stays that argument. LibTorch has no gradient through what is written: where one would
// be due, the call is a CaptureError.
#pragma once

#include <vector>

namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace aten_bridge {

// The same operator each time, while the original's schema is the same; any thread.
c10::OperatorHandle functional_twin(const c10::OperatorHandle& op);

// Replaces the arguments on the stack by the operator's results.
void call_functionally(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack);

}  // namespace aten_bridge
