#include "torchdyn/c_api/dlpack.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

using aten_bridge::DType;
using aten_bridge::str_cat;

// Codes by number: DLPack's later versions have more names than earlier ones.
struct Code {
  DType dtype;
  uint8_t code, bits;
};
constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;
constexpr Code kCodes[] = {
    {DType::kInt8, kInt, 8},           {DType::kInt16, kInt, 16},
    {DType::kInt32, kInt, 32},         {DType::kInt64, kInt, 64},
    {DType::kUInt8, kUInt, 8},         {DType::kUInt16, kUInt, 16},
    {DType::kUInt32, kUInt, 32},       {DType::kUInt64, kUInt, 64},
    {DType::kFloat16, kFloat, 16},     {DType::kFloat32, kFloat, 32},
    {DType::kFloat64, kFloat, 64},     {DType::kBFloat16, kBfloat, 16},
    {DType::kComplex64, kComplex, 64}, {DType::kComplex128, kComplex, 128},
    {DType::kBool, kBool, 8},
};
constexpr int kMostDimensions = 64;

std::optional<DType> dtype_of(const DLDataType& type) {
  for (const Code& row : kCodes)
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  return std::nullopt;
}

// A tensor that was handed out, with all that it points to.
struct Handed {
  DLManagedTensor managed{};
  std::vector<int64_t> sizes, strides;
  std::shared_ptr<void> owner;
};

}  // namespace

absl::StatusOr<PlainTensor> from_dlpack(const DLTensor* tensor, size_t place) {
  const auto refuse = [&](std::string_view what) {
    return absl::InvalidArgumentError(str_cat("input ", place, " ", what));
  };
  if (!tensor) return refuse("is null");
  if (static_cast<int>(tensor->device.device_type) != 1) return refuse("is not on the CPU");
  if (tensor->ndim < 0 || tensor->ndim > kMostDimensions || (tensor->ndim > 0 && !tensor->shape))
    return refuse("has no proper shape");
  const auto dtype = dtype_of(tensor->dtype);
  if (!dtype) return refuse("has a dtype that is not known");
  PlainTensor plain;
  plain.type.dtype = *dtype;
  int64_t elements = 1;
  for (int d = 0; d < tensor->ndim; ++d) {
    if (tensor->shape[d] < 0 ||
        __builtin_mul_overflow(elements, std::max<int64_t>(tensor->shape[d], 1), &elements))
      return refuse("has a size that no tensor has");
    plain.type.sizes.emplace_back(tensor->shape[d]);
  }
  plain.type.strides.resize(plain.type.sizes.size());
  int64_t stride = 1;
  for (size_t d = plain.type.sizes.size(); d-- > 0;) {
    plain.type.strides[d] = tensor->strides ? tensor->strides[d] : stride;
    stride *= std::max<int64_t>(tensor->shape[d], 1);
  }
  plain.data = static_cast<char*>(tensor->data) + tensor->byte_offset;
  return plain;
}

absl::StatusOr<DLManagedTensor*> to_dlpack(const PlainTensor& tensor) {
  DLDataType type{0, 0, 1};
  for (const Code& row : kCodes) {
    if (row.dtype != tensor.type.dtype) continue;
    type.code = row.code;
    type.bits = row.bits;
  }
  if (type.bits == 0)
    return absl::UnimplementedError(str_cat("DLPack has no ", to_string(tensor.type.dtype)));
  auto handed = std::make_unique<Handed>();
  for (const auto& size : tensor.type.sizes) handed->sizes.push_back(size.as_constant());
  for (const auto& stride : tensor.type.strides) handed->strides.push_back(stride.as_constant());
  handed->owner = tensor.owner;
  DLTensor& out = handed->managed.dl_tensor;
  out.data = tensor.data;
  out.device = {static_cast<DLDeviceType>(1), 0};
  out.ndim = static_cast<int>(handed->sizes.size());
  out.dtype = type;
  out.shape = handed->sizes.data();
  out.strides = handed->strides.data();
  handed->managed.manager_ctx = handed.get();
  handed->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Handed*>(self->manager_ctx);
  };
  return &handed.release()->managed;
}

}  // namespace torchdyn
