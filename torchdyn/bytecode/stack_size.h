// How high the stack of a frame grows: co_stacksize.
//   absl::StatusOr<int> depth = stack_size(code);
#pragma once

#include "absl/status/statusor.h"

#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

// The most values on the stack along any path from the first instruction. An error where an
// instruction is reached with two heights or takes more than there is, or where the code may run
// past its end.
absl::StatusOr<int> stack_size(const Bytecode& code);

}  // namespace torchdyn
