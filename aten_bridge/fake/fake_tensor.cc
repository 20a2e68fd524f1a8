#include "aten_bridge/fake/fake_tensor.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/trace/convert.h"

namespace aten_bridge {
namespace {

c10::Storage storage_without_data(size_t bytes, c10::Device device) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(nullptr, device),
                      /*allocator=*/nullptr, /*resizable=*/false);
}

// The Fake key among a tensor's own keys brings its calls to the recorder on every thread.
c10::DispatchKeySet keys_of(c10::Device device) {
  const auto backend = device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  return c10::DispatchKeySet({backend, c10::DispatchKey::Fake});
}

class FakeTensorImpl final : public c10::TensorImpl {
 public:
  FakeTensorImpl(at::Tensor meta_twin, c10::Device device, Value value)
      : TensorImpl(storage_without_data(meta_twin.storage().nbytes(), device), keys_of(device),
                   meta_twin.dtype()),
        meta_twin_(std::move(meta_twin)),
        value_(value) {
    set_sizes_and_strides(meta_twin_.sizes(), meta_twin_.strides(), meta_twin_.storage_offset());
  }

  const at::Tensor& meta_twin() const { return meta_twin_; }
  Value value() const { return value_; }

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(
      const c10::VariableVersion& version, bool allow_metadata_change) const override {
    return copy(version, allow_metadata_change);
  }
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(
      c10::VariableVersion&& version, bool allow_metadata_change) const override {
    return copy(std::move(version), allow_metadata_change);
  }

 private:
  // Saved tensors come back as copies; the value must come along.
  template <class Version>
  c10::intrusive_ptr<TensorImpl> copy(Version&& version, bool allow_metadata_change) const {
    auto result = c10::make_intrusive<FakeTensorImpl>(meta_twin_, device(), value_);
    copy_tensor_metadata(this, result.get(), std::forward<Version>(version), allow_metadata_change);
    return result;
  }
  const char* tensorimpl_type_name() const override { return "FakeTensorImpl"; }

  at::Tensor meta_twin_;
  Value value_;
};

const FakeTensorImpl& impl_of(const at::Tensor& fake) {
  TD_CHECK(is_fake(fake), "not a fake tensor");
  return *static_cast<const FakeTensorImpl*>(fake.unsafeGetTensorImpl());
}

}  // namespace

at::Tensor meta_tensor(const TensorType& type) {
  c10::SmallVector<int64_t, 5> sizes, strides;
  for (const SymExpr& size : type.sizes) sizes.push_back(size.as_constant());
  for (const SymExpr& stride : type.strides) strides.push_back(stride.as_constant());
  return at::detail::empty_strided_meta(sizes, strides, to_scalar_type(type.dtype));
}

at::Tensor meta_twin_of_real(const at::Tensor& real) {
  auto twin = at::detail::make_tensor<c10::TensorImpl>(
      storage_without_data(real.storage().nbytes(), c10::Device(c10::kMeta)),
      c10::DispatchKeySet(c10::DispatchKey::Meta), real.dtype());
  twin.unsafeGetTensorImpl()->set_sizes_and_strides(real.sizes(), real.strides(),
                                                    real.storage_offset());
  return twin;
}

at::Tensor make_fake(at::Tensor meta_twin, const c10::Device& device, Value value) {
  return at::detail::make_tensor<FakeTensorImpl>(std::move(meta_twin), device, value);
}

void forbid_data(const at::Tensor& tensor) {
  tensor.storage().unsafeGetStorageImpl()->set_throw_on_mutable_data_ptr();
}

bool is_fake(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  const c10::DispatchKeySet keys = tensor.key_set();
  return keys.has(c10::DispatchKey::Fake) && !keys.has(c10::DispatchKey::Functionalize);
}

const at::Tensor& meta_twin(const at::Tensor& fake) { return impl_of(fake).meta_twin(); }

Value value_of(const at::Tensor& fake) { return impl_of(fake).value(); }

}  // namespace aten_bridge
