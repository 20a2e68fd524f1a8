// Dropout: the draw is one random operator, in eager's place in the stream; the rest is pointwise.
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/full.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// A row-major boolean draw; bernoulli reads nothing of its argument but the sizes.
Tensor draw(const SymInts& sizes, double probability, const Tensor& model) {
  return at::bernoulli(at::full_symint(sizes, false, model.options().dtype(at::kBool)),
                       probability);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  if (!train.value_or(true)) return {input.clone(), filled_like(input, true, at::kBool)};
  const double keep = 1 - p;
  // Eager draws in memory order, into the input's strides.
  const MemoryOrder order(input);
  const Tensor mask = draw(order.sizes, keep, input).permute(order.back);
  const Tensor scaled = opmath(input).mul(mask).mul(keep == 0 ? 0.0 : 1 / keep);
  return {scaled.to(input.scalar_type()), mask};
}

// A draw is kept for the backward: one byte an element instead of the dtype's four.
Tensor bernoulli(const Tensor& self, double p, const std::optional<at::Generator>& /*default*/) {
  const SymInts sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  return draw(sizes, p, self).to(self.scalar_type());
}

// Only where the CPU's generator advances the same for bool (a float64 draw takes 64 bits for its
// seed).
bool draws_alike(const Stack& stack) {
  const Tensor& self = stack[stack.size() - 3].toTensor();
  const auto type = self.scalar_type();
  return self.is_cpu() && stack.back().isNone() &&
         (type == at::kFloat || type == at::kHalf || type == at::kBFloat16);
}

// CUDA's kernel draws otherwise; of an empty tensor eager makes a mask of another dtype.
bool draws_bernoulli(const Stack& stack) {
  const Tensor& input = stack[stack.size() - 3].toTensor();
  return input.is_cpu() && input.sym_numel() != 0;
}

constexpr Decomposition kRows[] = {
    {"aten::native_dropout", boxed<native_dropout>, draws_bernoulli, true},
    {"aten::bernoulli.p", boxed<bernoulli>, draws_alike, true},
};

}  // namespace

std::span<const Decomposition> dropout_rows() { return kRows; }

}  // namespace aten_bridge::decompose
