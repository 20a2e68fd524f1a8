// Fourier transforms. A kernel transforms what lies batched in memory, so the strides of its result
// tell in which order it took the dimensions.
#include <algorithm>
#include <numeric>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/strides.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

void sort_by_stride(Sizes::iterator begin, Sizes::iterator end, const Sizes& strides) {
  std::sort(begin, end, [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
}

// The strides of a result of these sizes: the other dimensions first, by falling stride, then the
// transformed ones as they come.
Sizes transformed_strides(const Sizes& strides, const Sizes& sizes, const Sizes& dims) {
  Sizes order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto batch_end = std::partition(order.begin(), order.end(), [&](int64_t d) {
    return std::find(dims.begin(), dims.end(), d) == dims.end();
  });
  sort_by_stride(order.begin(), batch_end, strides);
  std::copy(dims.begin(), dims.end(), batch_end);
  Sizes result(sizes.size());
  int64_t next = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    result[*d] = next;
    next *= std::max<int64_t>(sizes[*d], 1);
  }
  return result;
}

TensorType transformed(const at::Tensor& self, at::ScalarType dtype, const Sizes& sizes,
                       const Sizes& strides) {
  TensorType type = dense(sizes, dtype, self);
  type.strides = {strides.begin(), strides.end()};
  return type;
}

Sizes sorted_dims(const Sizes& dims, const Sizes& strides, bool but_the_last) {
  Sizes sorted = dims;
  sort_by_stride(sorted.begin(), sorted.end() - but_the_last, strides);
  return sorted;
}

// (self, dim, normalization, forward)
Types complex_to_complex(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes strides = self.strides().vec(), sizes = self.sizes().vec();
  const Sizes dims = a[1].toIntVector();
  if (dims.empty()) return {like(self)};
  return {transformed(self, self.scalar_type(), sizes,
                      transformed_strides(strides, sizes, sorted_dims(dims, strides, false)))};
}

// (self, dim, normalization, onesided)
Types real_to_complex(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes strides = self.strides().vec(), dims = a[1].toIntVector();
  Sizes sizes = self.sizes().vec();
  if (a[3].toBool()) sizes[dims.back()] = sizes[dims.back()] / 2 + 1;
  return {transformed(self, c10::toComplexType(self.scalar_type()), sizes,
                      transformed_strides(strides, sizes, sorted_dims(dims, strides, true)))};
}

// (self, dim, normalization, last_dim_size): all dimensions but the last one are transformed among
// complex numbers first; cuFFT overwrites its argument, and so has a dense copy where there is none
Types complex_to_real(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes strides = self.strides().vec(), sizes = self.sizes().vec(), dims = a[1].toIntVector();
  const Sizes last = {dims.back()};
  dims.pop_back();
  if (!dims.empty()) {
    strides = transformed_strides(strides, sizes, sorted_dims(dims, strides, false));
  } else if (self.is_cuda()) {
    const auto row_major = c10::contiguous_strides(sizes);
    strides.assign(row_major.begin(), row_major.end());
  }
  sizes[last[0]] = a[3].toInt();
  return {transformed(self, c10::toRealValueType(self.scalar_type()), sizes,
                      transformed_strides(strides, sizes, last))};
}

constexpr ShapeRule kRules[] = {
    {"aten::_fft_c2c", complex_to_complex},
    {"aten::_fft_r2c", real_to_complex},
    {"aten::_fft_c2r", complex_to_real},
};

}  // namespace

std::span<const ShapeRule> fft_rules() { return kRules; }

}  // namespace aten_bridge
