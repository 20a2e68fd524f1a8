#include "torchdyn/package/plain/plain_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "inductor/runtime/core/kernel_plan.h"

namespace torchdyn {
namespace {

using aten_bridge::TensorType;

void copy_dimension(const char* from, char* to, size_t d, const TensorType& from_type,
                    const TensorType& to_type, int64_t item) {
  if (d == to_type.sizes.size()) {
    std::memcpy(to, from, static_cast<size_t>(item));
    return;
  }
  const int64_t size = to_type.sizes[d].as_constant();
  const int64_t from_stride = from_type.strides[d].as_constant() * item;
  const int64_t to_stride = to_type.strides[d].as_constant() * item;
  for (int64_t i = 0; i < size; ++i)
    copy_dimension(from + i * from_stride, to + i * to_stride, d + 1, from_type, to_type, item);
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> allocate_bytes(int64_t bytes) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  const size_t whole = (size + kPlainAlignment - 1) / kPlainAlignment * kPlainAlignment;
  void* memory = std::aligned_alloc(kPlainAlignment, whole);
  if (!memory) return absl::ResourceExhaustedError("no memory");
  return std::shared_ptr<void>(memory, std::free);
}

absl::StatusOr<PlainTensor> allocate(const TensorType& type) {
  auto memory = allocate_bytes(*inductor::span_bytes(type));
  if (!memory.ok()) return memory.status();
  return PlainTensor{type, memory->get(), *memory};
}

void copy_elements(const PlainTensor& from, const PlainTensor& to) {
  const int64_t item = aten_bridge::size_in_bytes(to.type.dtype);
  const auto bytes = *inductor::span_bytes(to.type);
  int64_t elements = item;
  for (const auto& size : to.type.sizes) elements *= size.as_constant();
  if (from.type.strides == to.type.strides && elements == bytes) {
    std::memmove(to.data, from.data, static_cast<size_t>(bytes));
    return;
  }
  copy_dimension(static_cast<const char*>(from.data), static_cast<char*>(to.data), 0, from.type,
                 to.type, item);
}

}  // namespace torchdyn
