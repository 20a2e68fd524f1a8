// Distances between the rows of two matrices, and products of three tensors: sums over a product or
// difference that is never stored.
#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// |a - b|^2 = a.a - 2 a.b + b.b as one matrix product, which rounds as ATen's does.
Tensor euclidean_dist(const Tensor& a, const Tensor& b) {
  const auto squares = [](const Tensor& x) { return x.mul(x).sum(at::IntArrayRef{-1}, true); };
  const auto ones = [](const Tensor& x) { return filled_like(x, 1, x.scalar_type()); };
  const Tensor aa = squares(a), bb = squares(b);
  const Tensor rows = at::cat({a.mul(-2), aa, ones(aa)}, -1);
  const Tensor columns = at::cat({b, ones(bb), bb}, -1);
  return at_least(rows.matmul(columns.transpose(-2, -1)), 0).sqrt();
}

// ATen multiplies matrices for the Euclidean norm of many rows.
bool multiplies(const Tensor& a, const Tensor& b, double p, std::optional<int64_t> mode) {
  constexpr int64_t kFewRows = 25;
  const bool many = a.sym_size(-2) > kFewRows || b.sym_size(-2) > kFewRows;
  return p == 2 && (mode.value_or(0) == 1 || (mode.value_or(0) == 0 && many));
}

Tensor cdist(const Tensor& a, const Tensor& b, double p, std::optional<int64_t> mode) {
  if (multiplies(a, b, p, mode)) return euclidean_dist(a, b);
  const Tensor difference = a.unsqueeze(-2).sub(b.unsqueeze(-3));
  return at::linalg_vector_norm(difference, p, at::IntArrayRef{-1});
}

// ATen measures float32 and float64 alone.
bool has_rows(const Stack& stack) {
  const Tensor &a = stack[stack.size() - 4].toTensor(), &b = stack[stack.size() - 3].toTensor();
  const bool measured = a.scalar_type() == at::kFloat || a.scalar_type() == at::kDouble;
  return measured && a.scalar_type() == b.scalar_type() && a.sym_numel() != 0 &&
         b.sym_numel() != 0 && a.sym_size(-1) == b.sym_size(-1);
}

Tensor trilinear(const Tensor& a, const Tensor& b, const Tensor& c,
                 const std::vector<int64_t>& expand_a, const std::vector<int64_t>& expand_b,
                 const std::vector<int64_t>& expand_c, const std::vector<int64_t>& summed,
                 int64_t /*unroll_dim*/) {
  const auto expanded = [](const Tensor& x, std::vector<int64_t> dims) {
    std::sort(dims.begin(), dims.end());
    Tensor result = opmath(x);
    for (int64_t d : dims) result = result.unsqueeze(d);
    return result;
  };
  const Tensor product =
      expanded(a, expand_a).mul(expanded(c, expand_c)).mul(expanded(b, expand_b));
  return sum_over(product, summed, /*keepdim=*/false).to(a.scalar_type());
}

constexpr Decomposition kRows[] = {
    {"aten::_euclidean_dist", boxed<euclidean_dist>},
    {"aten::_cdist_forward", boxed<cdist>, has_rows},
    {"aten::_trilinear", boxed<trilinear>},
};

}  // namespace

std::span<const Decomposition> distance_rows() { return kRows; }

}  // namespace aten_bridge::decompose
