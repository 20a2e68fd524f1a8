// Calls that are replaced above autograd, where the program makes them: rows.
//   if (const Rewrite* rewrite = find_rewrite("aten::native_batch_norm")) rewrite->run(op, stack);
//
// For operators whose schema hides a mutation, which functionalization would lose; for those whose
// lists it does not understand; for questions that a device's kernel answers from metadata alone;
// for indices that LibTorch looks at on the host; and for what kernels read without an operator.
#pragma once

#include <string_view>

#include "aten_bridge/decompose/decompose.h"

namespace c10 {
class OperatorHandle;
}

namespace aten_bridge {

struct Rewrite {
  std::string_view op;
  // Replaces the arguments on the stack by the results; false: not this call, nothing was done.
  bool (*run)(const c10::OperatorHandle& op, Stack& stack);
};

const Rewrite* find_rewrite(std::string_view op);

}  // namespace aten_bridge
