// A tensor without a tensor library: a type and an address.
//   PlainTensor x{type, data, nullptr};                  // borrowed
//   PlainTensor y = *allocate(type);                     // owned
//   copy_elements(x, y);
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "aten_bridge/graph/graph.h"

namespace torchdyn {

struct PlainTensor {
  aten_bridge::TensorType type;  // sizes and strides are numbers
  void* data = nullptr;          // of the first element
  std::shared_ptr<void> owner;   // of the memory; null: the caller's
};

constexpr size_t kPlainAlignment = 64;  // bytes, of memory that is allocated

// Memory from the first element to the last. ResourceExhausted where there is none.
absl::StatusOr<std::shared_ptr<void>> allocate_bytes(int64_t bytes);
absl::StatusOr<PlainTensor> allocate(const aten_bridge::TensorType& type);

// Of equal dtypes and sizes, any strides; memory that does not overlap, or is the same.
void copy_elements(const PlainTensor& from, const PlainTensor& to);

}  // namespace torchdyn
