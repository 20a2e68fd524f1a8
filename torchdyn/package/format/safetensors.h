// Tensors in safetensors' layout: a header of names, dtypes, sizes and offsets as JSON, then the
// bytes of each, row-major.
//   std::string header = *safetensors_header(tensors);          // then each tensor's bytes, in
//   order auto tensors = parse_safetensors(section);                  // bytes point into the
//   section
//
// Whoever writes them in the order of descending element sizes has each at a multiple of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "aten_bridge/base/dtype.h"

namespace torchdyn {

struct StoredTensor {
  std::string name;
  aten_bridge::DType dtype;
  std::vector<int64_t> sizes;
  std::string_view bytes;
};

// InvalidArgument for a dtype that the layout has no name for.
absl::StatusOr<std::string> safetensors_header(const std::vector<StoredTensor>& tensors);
// Survives any bytes. Tensors of dtypes that we have no row for are refused, as is one that is not
// as long as its sizes say, or goes beyond the end.
absl::StatusOr<std::vector<StoredTensor>> parse_safetensors(std::string_view bytes);

}  // namespace torchdyn
