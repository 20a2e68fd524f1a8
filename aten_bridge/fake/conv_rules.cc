// Convolutions and pooling without a C++ Meta kernel.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/native/ConvUtils.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// A one-element list stands for all spatial dimensions.
Sizes spread(const c10::IValue& list, size_t dims) {
  const Sizes values = list.toIntVector();
  return values.size() == 1 ? Sizes(dims, values[0]) : values;
}

// Channels last goes through a convolution when one of its operands has it.
c10::MemoryFormat conv_format(const at::Tensor& input, const at::Tensor& weight) {
  const c10::MemoryFormat format = input.suggest_memory_format();
  return format == c10::MemoryFormat::Contiguous ? weight.suggest_memory_format() : format;
}

// (input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups)
Types convolution(Arguments a) {
  const at::Tensor &input = tensor(a, 0), &weight = tensor(a, 1);
  const size_t dims = input.dim() - 2;
  const Sizes stride = spread(a[3], dims), padding = spread(a[4], dims);
  const Sizes dilation = spread(a[5], dims), output_padding = spread(a[7], dims);
  const Sizes sizes =
      a[6].toBool()
          ? at::native::conv_input_size(input.sizes(), weight.sizes(), padding, output_padding,
                                        stride, dilation, a[8].toInt())
          : at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
  return {dense(sizes, input, conv_format(input, weight))};
}

// (grad_output, input, weight, bias_sizes?, stride, padding, dilation, transposed, output_padding,
//  groups, output_mask)
Types convolution_backward(Arguments a) {
  const at::Tensor &grad = tensor(a, 0), &input = tensor(a, 1), &weight = tensor(a, 2);
  const c10::MemoryFormat format = conv_format(input, weight);
  Types types(3);
  if (mask_at(a, 10, 0)) types[0] = dense(input.sizes().vec(), input, format);
  if (mask_at(a, 10, 1)) types[1] = dense(weight.sizes().vec(), weight, format);
  if (mask_at(a, 10, 2)) types[2] = dense({grad.size(1)}, grad);
  return types;
}

// (self, output_size)
Types adaptive_avg_pool2d(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes sizes = self.sizes().vec();
  const Sizes output = a[1].toIntVector();
  std::copy(output.begin(), output.end(), sizes.end() - 2);
  return {dense(sizes, self, self.suggest_memory_format())};
}

// (grad_output, self)
Types adaptive_avg_pool2d_backward(Arguments a) {
  const at::Tensor& self = tensor(a, 1);
  return {dense(self.sizes().vec(), self, self.suggest_memory_format())};
}

constexpr ShapeRule kRules[] = {
    {"aten::convolution", convolution},
    {"aten::convolution_backward", convolution_backward},
    {"aten::_adaptive_avg_pool2d", adaptive_avg_pool2d},
    {"aten::_adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward},
};

}  // namespace

std::span<const ShapeRule> conv_rules() { return kRules; }

}  // namespace aten_bridge
