// What the C API calls, with LibTorch or without: one library, one open_package.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dlpack/dlpack.h>

#include "absl/status/statusor.h"

#include "torchdyn/package/plain/plain_tensor.h"

namespace torchdyn {

class TrainerHandle {
 public:
  virtual ~TrainerHandle() = default;
  virtual absl::StatusOr<double> step(const std::vector<PlainTensor>& inputs) = 0;
  virtual void set_learning_rate(double rate) = 0;
};

class PackageHandle {
 public:
  virtual ~PackageHandle() = default;
  virtual const std::string& manifest() const = 0;  // JSON
  // Results own their memory.
  virtual absl::StatusOr<std::vector<PlainTensor>> call(
      const std::string& method, const std::vector<PlainTensor>& inputs) const = 0;
  virtual absl::Status save(const std::string& path) const = 0;
  // `optimizer` as Trainer takes it; empty: the package's own.
  virtual absl::StatusOr<std::unique_ptr<TrainerHandle>> train(
      const std::string& optimizer) const = 0;
};

// `public_key` as of PackageFile::open.
absl::StatusOr<std::unique_ptr<PackageHandle>> open_package(const std::string& path,
                                                            const std::string& public_key = "");

}  // namespace torchdyn
