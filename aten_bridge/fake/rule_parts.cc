#include "aten_bridge/fake/rule_parts.h"

#include <ATen/EmptyTensor.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/convert.h"

namespace aten_bridge {
namespace {

at::Tensor twin_of(const at::Tensor& t) { return is_fake(t) ? meta_twin(t) : t; }

}  // namespace

const at::Tensor& tensor(Arguments args, size_t i) {
  TD_CHECK(is_given(args, i), "argument ", i, " is no tensor");
  return args[i].toTensor();
}

bool is_given(Arguments args, size_t i) {
  return args[i].isTensor() && args[i].toTensor().defined();
}

bool mask_at(Arguments args, size_t i, size_t bit) { return args[i].toBoolList().get(bit); }

void size_depends_on_values(std::string_view op) {
  throw CaptureError(str_cat(op, " makes a tensor whose size depends on values"));
}

TensorType dense(const Sizes& sizes, const at::Tensor& like) {
  return dense(sizes, like.scalar_type(), like);
}

TensorType dense(const Sizes& sizes, c10::ScalarType dtype, const at::Tensor& like) {
  return dense(sizes, dtype, to_device(like.device()));
}

TensorType dense(const Sizes& sizes, c10::ScalarType dtype, const Device& device) {
  TensorType type{to_dtype(dtype), device, {sizes.begin(), sizes.end()}, {}};
  type.strides = contiguous_strides(type.sizes);
  return type;
}

TensorType dense(const Sizes& sizes, const at::Tensor& like, c10::MemoryFormat format) {
  return type_of(at::detail::empty_meta(sizes, like.scalar_type(), format),
                 to_device(like.device()));
}

TensorType like(const at::Tensor& t) { return like(t, t.scalar_type()); }

TensorType like(const at::Tensor& t, c10::ScalarType dtype) {
  const c10::impl::ExcludeDispatchKeyGuard only_meta(keys_down_to_fake());
  return type_of(at::empty_like(twin_of(t), dtype), to_device(t.device()));
}

TensorType elementwise(std::initializer_list<at::Tensor> operands, c10::ScalarType dtype) {
  const c10::impl::ExcludeDispatchKeyGuard only_meta(keys_down_to_fake());
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).allow_cpu_scalars(true);
  config.declare_static_dtype_and_device(dtype, c10::kMeta).check_all_same_device(false);
  config.add_owned_output(at::Tensor());
  Device device;
  for (const at::Tensor& operand : operands) {
    config.add_owned_const_input(twin_of(operand));
    if (operand.is_meta()) continue;  // made on the way
    if (operand.dim() > 0 || !operand.is_cpu()) device = to_device(operand.device());
  }
  return type_of(config.build().output(), device);
}

TensorType heads_inside(const Sizes& sizes, c10::ScalarType dtype, const at::Tensor& like) {
  TensorType type = dense(sizes, dtype, like);
  const TensorType memory = dense({sizes[0], sizes[2], sizes[1], sizes[3]}, dtype, like);
  type.strides = {memory.strides[0], memory.strides[2], memory.strides[1], memory.strides[3]};
  return type;
}

}  // namespace aten_bridge
