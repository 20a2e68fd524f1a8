// What several families are written with; for the family files only.
#pragma once

#include "aten_bridge/decompose/row.h"

namespace aten_bridge::decompose {

// ATen's kernels compute half types in float32 and round once, at the end.
ScalarType opmath_type(ScalarType type);
Tensor opmath(const Tensor& x);

// The scalar as a 0-dimensional tensor of x's dtype and device: an operand that changes no result's
// dtype.
Tensor constant(const Scalar& value, const Tensor& x);
Tensor select(const Tensor& condition, const Tensor& yes, const Tensor& no);
Tensor select(const Tensor& condition, const Tensor& yes, const Scalar& no);
Tensor select(const Tensor& condition, const Scalar& yes, const Tensor& no);
// value - x
Tensor minus(const Scalar& value, const Tensor& x);
// NaN stays, as in ATen's clamp.
Tensor at_least(const Tensor& x, const Scalar& low);
Tensor at_most(const Tensor& x, const Scalar& high);

// A dense tensor's dimensions from the outermost in memory to the innermost; permute(back) undoes
// permute(outer_first).
struct MemoryOrder {
  explicit MemoryOrder(const Tensor& x);  // row-major where x is not dense
  SymInts sizes;                          // in that order
  std::vector<int64_t> outer_first, back;
};

// The same values in the model's strides, where the model is dense and of the same sizes. ATen's
// pointwise kernels follow the strides of their first operand; a select made of several operations
// follows its condition's.
Tensor laid_out_as(const Tensor& x, const Tensor& model);

// A tensor of one value with x's sizes and, where x is dense, its strides.
Tensor filled_like(const Tensor& x, const Scalar& value, ScalarType dtype);

// Lists of x's dimensions: from `first` on, before `end`, all but one, the named ones made positive
// (none named: all).
std::vector<int64_t> dims_from(const Tensor& x, int64_t first);
std::vector<int64_t> dims_before(int64_t end);
std::vector<int64_t> dims_except(const Tensor& x, int64_t kept);
std::vector<int64_t> named_dims(const Tensor& x, const std::optional<std::vector<int64_t>>& dims);

// How many elements a reduction over dims folds into one.
c10::SymInt count(const Tensor& x, const std::vector<int64_t>& dims);
// Sums over dims; over none, x itself (ATen would take none for all).
Tensor sum_over(const Tensor& x, const std::vector<int64_t>& dims, bool keepdim);
Tensor mean_over(const Tensor& x, const std::vector<int64_t>& dims, bool keepdim);

// at::Reduction: 0 none, 1 mean, 2 sum, over all elements.
Tensor reduce_loss(const Tensor& losses, int64_t reduction);

}  // namespace aten_bridge::decompose
