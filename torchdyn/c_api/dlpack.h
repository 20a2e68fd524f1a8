// DLPack's tensors as ours, and back.
//   absl::StatusOr<PlainTensor> x = from_dlpack(input, 0);
//   DLManagedTensor* out = to_dlpack(result);              // its deleter lets go of the memory
#pragma once

#include <dlpack/dlpack.h>

#include "absl/status/statusor.h"

#include "torchdyn/package/plain/plain_tensor.h"

namespace torchdyn {

// Borrows the memory. `place` is for messages. InvalidArgument: not on the CPU, or of a dtype or
// sizes that no tensor has.
absl::StatusOr<PlainTensor> from_dlpack(const DLTensor* tensor, size_t place);
// Takes its share of the memory.
absl::StatusOr<DLManagedTensor*> to_dlpack(const PlainTensor& tensor);

}  // namespace torchdyn
