// Linear algebra without a C++ Meta kernel. LAPACK's matrices lie column by column.
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

TensorType by_columns(Sizes sizes, at::ScalarType dtype, const at::Tensor& like) {
  TORCH_CHECK(sizes.size() >= 2, "a matrix has two dimensions, not ", sizes.size());
  std::swap(sizes.end()[-1], sizes.end()[-2]);
  TensorType type = dense(sizes, dtype, like);
  std::swap(type.sizes.end()[-1], type.sizes.end()[-2]);
  std::swap(type.strides.end()[-1], type.strides.end()[-2]);
  return type;
}

TensorType by_columns(const at::Tensor& like) {
  return by_columns(like.sizes().vec(), like.scalar_type(), like);
}

Sizes broadcast(c10::IntArrayRef a, c10::IntArrayRef b) {
  const auto sizes = at::infer_size(a, b);
  return {sizes.begin(), sizes.end()};
}

Sizes batch_of(const at::Tensor& a, const at::Tensor& b) {
  return broadcast(a.sizes().slice(0, a.dim() - 2), b.sizes().slice(0, b.dim() - 2));
}

Sizes with(Sizes batch, std::initializer_list<int64_t> matrix) {
  batch.insert(batch.end(), matrix);
  return batch;
}

// It only checks.
Types nothing(Arguments) { return {}; }

Types scalar(Arguments a) { return {dense({}, tensor(a, 0))}; }

// (self, batch1, batch2, beta, alpha)
Types addbmm(Arguments a) {
  return {dense({tensor(a, 1).size(1), tensor(a, 2).size(2)}, tensor(a, 0))};
}

// (x1, x2, p, compute_mode?)
Types cdist(Arguments a) {
  const at::Tensor &x1 = tensor(a, 0), &x2 = tensor(a, 1);
  return {dense(with(batch_of(x1, x2), {x1.size(-2), x2.size(-2)}), x1)};
}

// (grad, x1, x2, p, cdist): x1's, in all batches
Types cdist_backward(Arguments a) {
  const at::Tensor &x1 = tensor(a, 1), &x2 = tensor(a, 2);
  const Sizes sizes = with(batch_of(x1, x2), {x1.size(-2), x1.size(-1)});
  const bool empty = x2.size(-2) == 0 || c10::multiply_integers(sizes) == 0;
  return {dense(empty ? x1.sizes().vec() : sizes, x1)};
}

Types pdist(Arguments a) {
  const int64_t rows = tensor(a, 0).size(0);
  return {dense({rows * (rows - 1) / 2}, tensor(a, 0))};
}

// (grad, self, p, pdist)
Types pdist_backward(Arguments a) { return {dense(tensor(a, 1).sizes().vec(), tensor(a, 1))}; }

Types like_matrix(Arguments a) { return {by_columns(tensor(a, 0))}; }

// An empty matrix is copied as it is.
Types cholesky(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {self.numel() == 0 ? dense(self.sizes().vec(), self) : by_columns(self)};
}

Types matrix_exp(Arguments a) { return {dense(tensor(a, 0).sizes().vec(), tensor(a, 0))}; }

// (self, tau, other, left, transpose)
Types ormqr(Arguments a) { return {by_columns(tensor(a, 2))}; }

// (self): the factors, and the reflections' scales
Types geqrf(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes scales = self.sizes().vec();
  scales.pop_back();
  scales.back() = std::min(self.size(-2), self.size(-1));
  return {by_columns(self), dense(scales, self)};
}

// (self): eigenvalues and vectors
Types eig(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes values = self.sizes().vec();
  values.pop_back();
  const auto dtype = c10::toComplexType(self.scalar_type());
  const Sizes square = self.sizes().vec();
  return {dense(values, dtype, self),
          self.is_cuda() ? dense(square, dtype, self) : by_columns(square, dtype, self)};
}
// (A, full_matrices, compute_uv, *, driver?): U, S, Vh; cuSOLVER's V lies by columns
Types svd(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes batch = self.sizes().slice(0, self.dim() - 2).vec();
  const int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n);
  Sizes values = batch;
  values.push_back(k);
  const TensorType s = dense(values, c10::toRealValueType(self.scalar_type()), self);
  if (!a[2].toBool()) return {dense({0}, self), s, dense({0}, self)};
  const bool full = a[1].toBool();
  const Sizes u = with(batch, {m, full ? m : k}), vh = with(batch, {full ? n : k, n});
  return {by_columns(u, self.scalar_type(), self), s,
          self.is_cuda() ? dense(vh, self) : by_columns(vh, self.scalar_type(), self)};
}

Types eigvals(Arguments a) { return {eig(a)[0]}; }

// (self, input2, upper): self is the right side
Types cholesky_solve(Arguments a) {
  const at::Tensor &right = tensor(a, 0), &factor = tensor(a, 1);
  return {by_columns(with(batch_of(right, factor), {right.size(-2), right.size(-1)}),
                     right.scalar_type(), right)};
}

Types pinv(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes sizes = self.sizes().vec();
  std::swap(sizes.end()[-1], sizes.end()[-2]);
  return {dense(sizes, self)};
}

bool lies_by_columns(const at::Tensor& matrix) {
  const TensorType type = by_columns(matrix);
  for (int64_t d = 0; d < matrix.dim(); ++d)
    if (matrix.size(d) != 1 && type.strides[d] != SymExpr(matrix.stride(d))) return false;
  return true;
}

bool is_lazily_conjugated(const at::Tensor& fake) {
  return value_of(fake).node->origin == "aten::_conj";
}

// (A, B, *, upper, left, unitriangular): a lazily conjugated A that lies by columns is taken for
// its base by rows, and so is the result
Types solve_triangular(Arguments a) {
  const at::Tensor &matrix = tensor(a, 0), &right = tensor(a, 1);
  const Sizes batch = batch_of(matrix, right);
  const Sizes sizes = with(batch, {right.size(-2), right.size(-1)});
  const bool broadcast = matrix.sizes().slice(0, matrix.dim() - 2) != c10::IntArrayRef(batch);
  if (!broadcast && is_lazily_conjugated(matrix) && lies_by_columns(matrix))
    return {dense(sizes, matrix)};
  return {by_columns(sizes, matrix.scalar_type(), matrix)};
}

constexpr ShapeRule kRules[] = {
    {"aten::dot", scalar},
    {"aten::vdot", scalar},
    {"aten::addbmm", addbmm},
    {"aten::_cdist_forward", cdist},
    {"aten::_cdist_backward", cdist_backward},
    {"aten::_pdist_forward", pdist},
    {"aten::_pdist_backward", pdist_backward},
    {"aten::cholesky", cholesky},
    {"aten::cholesky_inverse", like_matrix},
    {"aten::linalg_householder_product", like_matrix},
    {"aten::linalg_matrix_exp", matrix_exp},
    {"aten::linalg_solve_triangular", solve_triangular},
    {"aten::cholesky_solve", cholesky_solve},
    {"aten::linalg_pinv.atol_rtol_tensor", pinv},
    {"aten::_linalg_check_errors", nothing},
    {"aten::linalg_eig", eig},
    {"aten::_linalg_svd", svd},
    {"aten::_linalg_eigvals", eigvals},
    {"aten::ormqr", ormqr},
    {"aten::geqrf", geqrf},
};

}  // namespace

std::span<const ShapeRule> linalg_rules() { return kRules; }

}  // namespace aten_bridge
