// Tensors of one value, all as aten::full.
#include <ATen/ops/full.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// The schema's `dtype, layout, device, pin_memory`, each absent where the default or the model
// tensor decides.
using MaybeType = std::optional<ScalarType>;
using MaybeLayout = std::optional<at::Layout>;
using MaybeDevice = std::optional<at::Device>;
using MaybeFormat = std::optional<at::MemoryFormat>;

Tensor full(const SymInts& sizes, const Scalar& value, MaybeType dtype, MaybeLayout,
            MaybeDevice device) {
  const auto type = dtype.value_or(c10::get_default_dtype_as_scalartype());
  return at::full_symint(sizes, value, at::TensorOptions(type).device(device));
}

template <int value>
Tensor factory(const SymInts& sizes, MaybeType dtype, MaybeLayout layout, MaybeDevice device,
               std::optional<bool> /*pin_memory*/) {
  return full(sizes, value, dtype, layout, device);
}

Tensor new_full(const Tensor& self, const SymInts& sizes, const Scalar& value, MaybeType dtype,
                MaybeLayout, MaybeDevice device, std::optional<bool> /*pin_memory*/) {
  return at::full_symint(sizes, value,
                         self.options()
                             .dtype(dtype.value_or(self.scalar_type()))
                             .device(device.value_or(self.device())));
}

template <int value>
Tensor new_filled(const Tensor& self, const SymInts& sizes, MaybeType dtype, MaybeLayout layout,
                  MaybeDevice device, std::optional<bool> pin_memory) {
  return new_full(self, sizes, value, dtype, layout, device, pin_memory);
}

Tensor full_like(const Tensor& self, const Scalar& value, MaybeType dtype, MaybeLayout, MaybeDevice,
                 std::optional<bool> /*pin_memory*/, MaybeFormat format) {
  const auto type = dtype.value_or(self.scalar_type());
  if (format.value_or(at::MemoryFormat::Preserve) == at::MemoryFormat::Preserve)
    return filled_like(self, value, type);
  return at::full_symint(self.sym_sizes(), value, self.options().dtype(type)).contiguous(*format);
}

template <int value>
Tensor like(const Tensor& self, MaybeType dtype, MaybeLayout layout, MaybeDevice device,
            std::optional<bool> pin_memory, MaybeFormat format) {
  return decompose::full_like(self, value, dtype, layout, device, pin_memory, format);
}

Tensor fill(const Tensor& self, const Scalar& value) {
  return filled_like(self, value, self.scalar_type());
}

Tensor zero(const Tensor& self) { return decompose::fill(self, 0); }

// Rewritten only for plain tensors on the model's own device.
template <size_t args, size_t layout>
bool is_plain(const Stack& stack) {
  const auto first = stack.end() - args;
  const auto& where = first[layout + 1];
  const auto& pinned = first[layout + 2];
  return (first[layout].isNone() || first[layout].toLayout() == at::kStrided) &&
         (pinned.isNone() || !pinned.toBool()) &&
         (!first->isTensor() || where.isNone() || where.toDevice() == first->toTensor().device());
}

constexpr Decomposition kRows[] = {
    {"aten::zeros", boxed<factory<0>>, is_plain<5, 2>},
    {"aten::ones", boxed<factory<1>>, is_plain<5, 2>},
    {"aten::new_zeros", boxed<new_filled<0>>, is_plain<6, 3>},
    {"aten::new_ones", boxed<new_filled<1>>, is_plain<6, 3>},
    {"aten::new_full", boxed<new_full>, is_plain<7, 4>},
    {"aten::zeros_like", boxed<like<0>>, is_plain<6, 2>},
    {"aten::ones_like", boxed<like<1>>, is_plain<6, 2>},
    {"aten::full_like", boxed<full_like>, is_plain<7, 3>},
    {"aten::fill.Scalar", boxed<fill>},
    {"aten::zero", boxed<zero>},
};

}  // namespace

std::span<const Decomposition> factory_rows() { return kRows; }

}  // namespace aten_bridge::decompose
