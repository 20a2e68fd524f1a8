// Tensors and storages made directly, as often as a call needs them.
//   at::Tensor t = tensor_over(allocate_storage(bytes, allocator), dtype, sizes, strides, 0);
#pragma once

#include <memory>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>

namespace inductor {

// What is excluded while a graph runs: a captured graph holds its casts and its gradients.
inline const c10::DispatchKeySet kBelowAutograd =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;

inline c10::Storage allocate_storage(int64_t bytes, c10::Allocator* allocator) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                               allocator, /*resizable=*/true);
}

// The same memory, which `owner` keeps; none: nobody does.
inline c10::Storage storage_over(const c10::Storage& storage, std::shared_ptr<const void> owner) {
  auto* holder = new std::shared_ptr<const void>(std::move(owner));
  c10::DataPtr data(
      storage.mutable_data(), holder,
      [](void* h) { delete static_cast<std::shared_ptr<const void>*>(h); }, storage.device());
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(storage.nbytes()), std::move(data),
      c10::GetAllocator(storage.device_type()),
      /*resizable=*/true);
}

// `offset` counts elements.
inline at::Tensor tensor_over(c10::Storage storage, caffe2::TypeMeta dtype, c10::IntArrayRef sizes,
                              c10::IntArrayRef strides, int64_t offset) {
  const auto key = storage.device().is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  auto impl =
      c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), dtype);
  impl->set_sizes_and_strides(sizes, strides, offset);
  return at::Tensor(std::move(impl));
}

// A tensor with the layout of another.
inline at::Tensor tensor_like(c10::Storage storage, const at::Tensor& t) {
  return tensor_over(std::move(storage), t.dtype(), t.sizes(), t.strides(), t.storage_offset());
}

}  // namespace inductor
