// What the C API calls, with LibTorch or without: one library, one open_package.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dlpack/dlpack.h>

#include "absl/status/statusor.h"

#include "torchdyn/package/plain/plain_tensor.h"

namespace torchdyn {

class PackageHandle {
 public:
  virtual ~PackageHandle() = default;
  virtual const std::string& manifest() const = 0;  // JSON
  // Results own their memory.
  virtual absl::StatusOr<std::vector<PlainTensor>> call(
      const std::vector<PlainTensor>& inputs) const = 0;
};

absl::StatusOr<std::unique_ptr<PackageHandle>> open_package(const std::string& path);

}  // namespace torchdyn
