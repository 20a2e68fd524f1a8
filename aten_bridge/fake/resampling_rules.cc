// Pooling, padding, sampling on grids and windows without a C++ Meta kernel.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/native/Pool.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// The last of `self`'s sizes replaced by these.
Sizes with_spatial(const at::Tensor& self, const Sizes& spatial) {
  Sizes sizes = self.sizes().vec();
  std::copy(spatial.begin(), spatial.end(), sizes.end() - spatial.size());
  return sizes;
}

// A batch keeps channels last.
TensorType in_format_of(const at::Tensor& self, const Sizes& spatial) {
  const bool batched = self.dim() == static_cast<int64_t>(spatial.size()) + 2;
  const auto format = batched ? self.suggest_memory_format() : c10::MemoryFormat::Contiguous;
  return dense(with_spatial(self, spatial), self, format);
}

// Dense, with the sizes of argument 1: what backward formulas give for `self`.
Types dense_like_self(Arguments a) { return {dense(tensor(a, 1).sizes().vec(), tensor(a, 1))}; }

// The list's entry for dimension d: one entry stands for all, none for `otherwise`.
int64_t entry(const c10::IValue& list, size_t d, int64_t otherwise) {
  const Sizes values = list.toIntVector();
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values[d];
}

// (self, kernel_size, stride, padding, dilation, ceil_mode): maxima and where they were
Types max_pool3d(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes spatial;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t kernel = entry(a[1], d, 1);
    spatial.push_back(at::native::pooling_output_shape<int64_t>(
        self.size(static_cast<int64_t>(d) - 3), kernel, entry(a[3], d, 0), entry(a[2], d, kernel),
        entry(a[4], d, 1), a[5].toBool()));
  }
  const TensorType maxima = in_format_of(self, spatial);
  TensorType places = maxima;
  places.dtype = DType::kInt64;
  return {maxima, places};
}

// (grad_output, self, ...): the gradient of a `self` with so many spatial dimensions
template <int dims>
Types gradient(Arguments a) {
  const Sizes sizes = tensor(a, 1).sizes().vec();
  return {in_format_of(tensor(a, 1), Sizes(sizes.end() - dims, sizes.end()))};
}

// (self, indices, output_size, ...)
Types max_unpool2d(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes spatial = a[2].toIntVector();
  return {self.is_cuda() ? dense(with_spatial(self, spatial), self) : in_format_of(self, spatial)};
}
Types max_unpool3d(Arguments a) {
  return {dense(with_spatial(tensor(a, 0), a[2].toIntVector()), tensor(a, 0))};
}

// (self, output_size)
Types adaptive_avg_pool3d(Arguments a) {
  return {dense(with_spatial(tensor(a, 0), a[1].toIntVector()), tensor(a, 0))};
}

// (self, padding: left, right, top, bottom)
Types reflection_pad2d(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes pad = a[1].toIntVector();
  const Sizes spatial = {self.size(-2) + pad[2] + pad[3], self.size(-1) + pad[0] + pad[1]};
  if (self.is_cuda()) return {dense(with_spatial(self, spatial), self)};
  return {in_format_of(self, spatial)};
}

// (input, grid, ...): grid is [N, spatial..., coordinates]
Types grid_sampler(Arguments a) {
  const auto grid = tensor(a, 1).sizes();
  return {dense(with_spatial(tensor(a, 0), grid.slice(1, grid.size() - 2).vec()), tensor(a, 0))};
}

// (grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)
Types grid_sampler_backward(Arguments a) {
  const at::Tensor &input = tensor(a, 1), &grid = tensor(a, 2);
  Types types = {std::nullopt, dense(grid.sizes().vec(), grid)};
  if (mask_at(a, 6, 0)) types[0] = dense(input.sizes().vec(), input);
  return types;
}

// How many windows fit in dimension d of two.
int64_t windows(int64_t size, const c10::IValue& kernel, const c10::IValue& dilation,
                const c10::IValue& padding, const c10::IValue& stride, size_t d) {
  const int64_t reach = entry(dilation, d, 1) * (entry(kernel, d, 1) - 1);
  return (size + 2 * entry(padding, d, 0) - reach - 1) / entry(stride, d, 1) + 1;
}

// (self, kernel_size, dilation, padding, stride): a column a window
Types im2col(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes sizes = self.sizes().slice(0, self.dim() - 3).vec();
  sizes.push_back(self.size(-3) * entry(a[1], 0, 1) * entry(a[1], 1, 1));
  sizes.push_back(windows(self.size(-2), a[1], a[2], a[3], a[4], 0) *
                  windows(self.size(-1), a[1], a[2], a[3], a[4], 1));
  return {dense(sizes, self)};
}

// (self, output_size, kernel_size, ...)
Types col2im(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes sizes = self.sizes().slice(0, self.dim() - 2).vec();
  sizes.push_back(self.size(-2) / (entry(a[2], 0, 1) * entry(a[2], 1, 1)));
  for (size_t d = 0; d < 2; ++d) sizes.push_back(entry(a[1], d, 1));
  return {dense(sizes, self)};
}

// (grad_in, input_sizes, dim, size, step)
Types unfold_backward(Arguments a) { return {dense(a[1].toIntVector(), tensor(a, 0))}; }

// (self, groups)
Types channel_shuffle(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {dense(self.sizes().vec(), self, self.suggest_memory_format())};
}

// (theta, size, align_corners): where each pixel of [N, C, spatial...] comes from
Types affine_grid(Arguments a) {
  const Sizes size = a[1].toIntVector();
  Sizes sizes = {size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(static_cast<int64_t>(size.size()) - 2);
  return {dense(sizes, tensor(a, 0))};
}

constexpr ShapeRule kRules[] = {
    {"aten::affine_grid_generator", affine_grid},
    {"aten::max_pool3d_with_indices", max_pool3d},
    {"aten::max_pool3d_with_indices_backward", gradient<3>},
    {"aten::max_unpool2d", max_unpool2d},
    {"aten::max_unpool3d", max_unpool3d},
    {"aten::fractional_max_pool3d_backward", dense_like_self},
    {"aten::_adaptive_avg_pool3d", adaptive_avg_pool3d},
    {"aten::_adaptive_avg_pool3d_backward", dense_like_self},
    {"aten::reflection_pad2d", reflection_pad2d},
    {"aten::reflection_pad2d_backward", gradient<2>},
    {"aten::replication_pad2d_backward", gradient<2>},
    {"aten::replication_pad3d_backward", gradient<3>},
    {"aten::grid_sampler_2d", grid_sampler},
    {"aten::grid_sampler_2d_backward", grid_sampler_backward},
    {"aten::grid_sampler_3d", grid_sampler},
    {"aten::grid_sampler_3d_backward", grid_sampler_backward},
    {"aten::im2col", im2col},
    {"aten::col2im", col2im},
    {"aten::unfold_backward", unfold_backward},
    {"aten::channel_shuffle", channel_shuffle},
};

}  // namespace

std::span<const ShapeRule> resampling_rules() { return kRules; }

}  // namespace aten_bridge
