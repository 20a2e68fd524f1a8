// Reductions over simpler reductions. Half types are summed in float32 and rounded once.
#include <cmath>
#include <limits>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

using Dims = std::optional<std::vector<int64_t>>;

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, const Dims& dims,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  // The CPU's kernel keeps its sums in double.
  const bool in_double = self.scalar_type() == at::kFloat && self.device().is_cpu();
  const Tensor x = in_double ? self.to(at::kDouble) : opmath(self);
  const auto over = named_dims(self, dims);
  const Tensor mean = mean_over(x, over, /*keepdim=*/true), deviation = x.sub(mean);
  const double n = static_cast<double>(count(x, over).expect_int());
  // With too few elements ATen divides by zero.
  const double divisor = std::max(n - (correction ? correction->toDouble() : 1.0), 0.0);
  const Tensor var = sum_over(deviation.mul(deviation), over, keepdim).div(divisor);
  SymInts sizes(var.sym_sizes().begin(), var.sym_sizes().end());
  return {var, mean.reshape_symint(sizes)};
}

template <bool root>
Tensor deviation(const Tensor& self, const Dims& dims, const std::optional<Scalar>& correction,
                 bool keepdim) {
  const Tensor var = std::get<0>(var_mean(self, dims, correction, keepdim));
  return (root ? var.sqrt() : var).to(self.scalar_type());
}

template <bool root>
std::tuple<Tensor, Tensor> deviation_and_mean(const Tensor& self, const Dims& dims,
                                              const std::optional<Scalar>& correction,
                                              bool keepdim) {
  const auto [var, mean] = var_mean(self, dims, correction, keepdim);
  return {(root ? var.sqrt() : var).to(self.scalar_type()), mean.to(self.scalar_type())};
}

bool is_real(const Stack& stack, size_t args) {
  return !stack[stack.size() - args].toTensor().is_complex();
}
bool is_real_1_of_4(const Stack& stack) { return is_real(stack, 4); }

Tensor vector_norm(const Tensor& self, const Scalar& ord, const Dims& dims, bool keepdim,
                   std::optional<ScalarType> dtype) {
  const auto type = dtype.value_or(self.scalar_type());
  const auto over = named_dims(self, dims);
  const Tensor x = self.to(opmath_type(type)).abs();
  const double p = ord.toDouble();
  Tensor norm;
  if (p == std::numeric_limits<double>::infinity()) {
    norm = over.empty() ? x : x.amax(over, keepdim);
  } else if (p == -std::numeric_limits<double>::infinity()) {
    norm = over.empty() ? x : x.amin(over, keepdim);
  } else if (p == 0) {
    norm = sum_over(x.ne(0).to(x.scalar_type()), over, keepdim);
  } else if (p == 1) {
    norm = sum_over(x, over, keepdim);
  } else if (p == 2) {
    norm = sum_over(x.mul(x), over, keepdim).sqrt();
  } else {
    norm = sum_over(x.pow(p), over, keepdim).pow(1 / p);
  }
  return norm.to(type);
}

// Slices along `dim` whose norm is larger than the bound are scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& bound) {
  TORCH_CHECK(self.dim() >= 2 && p.toDouble() > 0 && bound.toDouble() >= 0,
              "renorm takes at least two dimensions, a positive p and no negative bound");
  const Tensor x = opmath(self);
  const auto over = dims_except(self, dim < 0 ? dim + self.dim() : dim);
  const Tensor norms = vector_norm(x, p, over, /*keepdim=*/true, std::nullopt);
  const Tensor scale = select(norms.gt(bound), constant(bound, norms).div(norms.add(1e-7)), 1);
  return x.mul(scale).to(self.scalar_type());
}

// Shifted by the maximum; a row whose maximum is infinite is not shifted (infinity minus itself is
// NaN).
Tensor logsumexp(const Tensor& self, const std::vector<int64_t>& dims, bool keepdim) {
  const Tensor x = opmath(self);
  const auto over = named_dims(self, dims);
  const Tensor max = x.amax(over, /*keepdim=*/true);
  const Tensor shift = select(max.abs().eq(std::numeric_limits<double>::infinity()), 0, max);
  const Tensor sum = sum_over(x.sub(shift).exp(), over, keepdim);
  SymInts sizes(sum.sym_sizes().begin(), sum.sym_sizes().end());
  return sum.log().add(shift.reshape_symint(sizes)).to(self.scalar_type());
}

bool is_nonempty_floating(const Stack& stack) {
  const Tensor& self = stack[stack.size() - 3].toTensor();
  return self.is_floating_point() && self.sym_numel() != 0 &&
         !stack[stack.size() - 2].toIntVector().empty();
}

template <size_t args>
bool is_real_and_nonempty(const Stack& stack) {
  const Tensor& self = stack[stack.size() - args].toTensor();
  return !self.is_complex() && self.sym_numel() != 0;
}

constexpr Decomposition kRows[] = {
    {"aten::var.correction", boxed<deviation<false>>, is_real_1_of_4},
    {"aten::std.correction", boxed<deviation<true>>, is_real_1_of_4},
    {"aten::var_mean.correction", boxed<deviation_and_mean<false>>, is_real_1_of_4},
    {"aten::std_mean.correction", boxed<deviation_and_mean<true>>, is_real_1_of_4},
    {"aten::linalg_vector_norm", boxed<vector_norm>, is_real_and_nonempty<5>},
    {"aten::renorm", boxed<renorm>, is_real_and_nonempty<4>},
    {"aten::logsumexp", boxed<logsumexp>, is_nonempty_floating},
};

}  // namespace

std::span<const Decomposition> reduce_rows() { return kRows; }

}  // namespace aten_bridge::decompose
