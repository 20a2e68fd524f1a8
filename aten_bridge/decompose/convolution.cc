// Convolutions with a bias on CUDA: cuDNN's are without. ATen adds the bias, and sums its gradient,
// by kernels of their own; apart, both fuse with their neighbours.
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

Tensor convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                   const SymInts& stride, const SymInts& padding, const SymInts& dilation,
                   bool transposed, const SymInts& output_padding, const c10::SymInt& groups) {
  const Tensor result = at::convolution_symint(input, weight, {}, stride, padding, dilation,
                                               transposed, output_padding, groups);
  if (!bias) return result;
  SymInts of_channels(static_cast<size_t>(result.dim()), 1);
  of_channels[1] = result.sym_size(1);
  return result.add(bias->view_symint(of_channels));
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<SymInts>& bias_sizes, const SymInts& stride, const SymInts& padding,
    const SymInts& dilation, bool transposed, const SymInts& output_padding,
    const c10::SymInt& groups, const std::array<bool, 3>& output_mask) {
  const auto [of_input, of_weight, of_bias] = output_mask;
  std::tuple<Tensor, Tensor, Tensor> grads;
  if (of_input || of_weight)
    grads = at::convolution_backward_symint(
        grad, input, weight,
        bias_sizes ? at::OptionalSymIntArrayRef(*bias_sizes) : at::OptionalSymIntArrayRef(), stride,
        padding, dilation, transposed, output_padding, groups, {of_input, of_weight, false});
  if (of_bias) std::get<2>(grads) = grad.sum(dims_except(grad, 1));
  return grads;
}

bool on_cuda(const Stack& stack, size_t args) {
  const Tensor& first = stack[stack.size() - args].toTensor();
  return first.is_cuda() && first.is_floating_point();
}

bool has_bias(const Stack& stack) {
  const c10::IValue& bias = stack[stack.size() - 7];
  return on_cuda(stack, 9) && bias.isTensor() && bias.toTensor().defined();
}

bool has_gradient_of_bias(const Stack& stack) {
  return on_cuda(stack, 11) && stack.back().toBoolList()[2];
}

constexpr Decomposition kRows[] = {
    {"aten::convolution", boxed<convolution>, has_bias},
    {"aten::convolution_backward", boxed<convolution_backward>, has_gradient_of_bias},
};

}  // namespace

std::span<const Decomposition> convolution_rows() { return kRows; }

}  // namespace aten_bridge::decompose
