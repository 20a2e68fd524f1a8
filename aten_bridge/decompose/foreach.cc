// Operators over lists of tensors, as ATen composes them: one operator an element. They draw no
// advantage from being one call here; what fuses is the scheduler's to say.
#include <ATen/ops/copy.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

using Tensors = std::vector<Tensor>;

Tensors zeros(const Tensors& self) {
  Tensors results;
  for (const Tensor& x : self) results.push_back(filled_like(x, 0, x.scalar_type()));
  return results;
}

Tensors copies(const Tensors& self, const Tensors& source, bool non_blocking) {
  TORCH_CHECK(self.size() == source.size(), "lists of different lengths");
  Tensors results;
  for (size_t i = 0; i < self.size(); ++i)
    results.push_back(at::copy(self[i], source[i], non_blocking));
  return results;
}

constexpr Decomposition kRows[] = {
    by_aten<"aten::_foreach_abs">(),
    by_aten<"aten::_foreach_acos">(),
    by_aten<"aten::_foreach_add.List">(),
    by_aten<"aten::_foreach_add.Scalar">(),
    by_aten<"aten::_foreach_add.ScalarList">(),
    by_aten<"aten::_foreach_add.Tensor">(),
    by_aten<"aten::_foreach_addcdiv.Scalar">(),
    by_aten<"aten::_foreach_addcdiv.ScalarList">(),
    by_aten<"aten::_foreach_addcmul.Scalar">(),
    by_aten<"aten::_foreach_addcmul.ScalarList">(),
    by_aten<"aten::_foreach_asin">(),
    by_aten<"aten::_foreach_atan">(),
    by_aten<"aten::_foreach_ceil">(),
    by_aten<"aten::_foreach_clamp_max.List">(),
    by_aten<"aten::_foreach_clamp_max.Scalar">(),
    by_aten<"aten::_foreach_clamp_max.ScalarList">(),
    by_aten<"aten::_foreach_clamp_min.List">(),
    by_aten<"aten::_foreach_clamp_min.Scalar">(),
    by_aten<"aten::_foreach_clamp_min.ScalarList">(),
    {"aten::_foreach_copy", boxed<copies>, nullptr, true},
    by_aten<"aten::_foreach_cos">(),
    by_aten<"aten::_foreach_cosh">(),
    by_aten<"aten::_foreach_div.List">(),
    by_aten<"aten::_foreach_div.Scalar">(),
    by_aten<"aten::_foreach_div.ScalarList">(),
    by_aten<"aten::_foreach_div.Tensor">(),
    by_aten<"aten::_foreach_erf">(),
    by_aten<"aten::_foreach_erfc">(),
    by_aten<"aten::_foreach_exp">(),
    by_aten<"aten::_foreach_expm1">(),
    by_aten<"aten::_foreach_floor">(),
    by_aten<"aten::_foreach_frac">(),
    by_aten<"aten::_foreach_lerp.List">(),
    by_aten<"aten::_foreach_lerp.Scalar">(),
    by_aten<"aten::_foreach_lerp.ScalarList">(),
    by_aten<"aten::_foreach_lgamma">(),
    by_aten<"aten::_foreach_log">(),
    by_aten<"aten::_foreach_log10">(),
    by_aten<"aten::_foreach_log1p">(),
    by_aten<"aten::_foreach_log2">(),
    by_aten<"aten::_foreach_max">(),
    by_aten<"aten::_foreach_maximum.List">(),
    by_aten<"aten::_foreach_maximum.Scalar">(),
    by_aten<"aten::_foreach_maximum.ScalarList">(),
    by_aten<"aten::_foreach_minimum.List">(),
    by_aten<"aten::_foreach_minimum.Scalar">(),
    by_aten<"aten::_foreach_minimum.ScalarList">(),
    by_aten<"aten::_foreach_mul.List">(),
    by_aten<"aten::_foreach_mul.Scalar">(),
    by_aten<"aten::_foreach_mul.ScalarList">(),
    by_aten<"aten::_foreach_mul.Tensor">(),
    by_aten<"aten::_foreach_neg">(),
    by_aten<"aten::_foreach_norm.Scalar">(),
    by_aten<"aten::_foreach_pow.List">(),
    by_aten<"aten::_foreach_pow.Scalar">(),
    by_aten<"aten::_foreach_pow.ScalarAndTensor">(),
    by_aten<"aten::_foreach_pow.ScalarList">(),
    by_aten<"aten::_foreach_reciprocal">(),
    by_aten<"aten::_foreach_round">(),
    by_aten<"aten::_foreach_rsqrt">(),
    by_aten<"aten::_foreach_sigmoid">(),
    by_aten<"aten::_foreach_sign">(),
    by_aten<"aten::_foreach_sin">(),
    by_aten<"aten::_foreach_sinh">(),
    by_aten<"aten::_foreach_sqrt">(),
    by_aten<"aten::_foreach_sub.List">(),
    by_aten<"aten::_foreach_sub.Scalar">(),
    by_aten<"aten::_foreach_sub.ScalarList">(),
    by_aten<"aten::_foreach_tan">(),
    by_aten<"aten::_foreach_tanh">(),
    by_aten<"aten::_foreach_trunc">(),
    {"aten::_foreach_zero", boxed<zeros>, nullptr, true},
};

}  // namespace

std::span<const Decomposition> foreach_rows() { return kRows; }

}  // namespace aten_bridge::decompose
