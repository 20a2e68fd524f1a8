// Arguments for every decomposition: what the test of a row runs it with.
//   for (const Stack& args : samples("aten::gelu", Draw(at::kFloat, at::kFloat))) ...
#pragma once

#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/decompose/decompose.h"

namespace aten_bridge {

// Draws tensors whose values are exact in `values` and which are stored as `stored`; equal calls
// draw equal values.
class Draw {
 public:
  Draw(at::ScalarType values, at::ScalarType stored) : values_(values), type_(stored) {}

  at::ScalarType type() const { return type_; }
  at::Tensor normal(std::vector<int64_t> sizes, double scale = 1, double mean = 0);
  at::Tensor uniform(std::vector<int64_t> sizes, double low, double high);
  at::Tensor of(const std::vector<double>& values);
  at::Tensor integers(std::vector<int64_t> sizes, int64_t low, int64_t high);
  at::Tensor bools(std::vector<int64_t> sizes);

 private:
  at::Tensor stored(const at::Tensor& x) const { return x.to(values_).to(type_); }
  at::ScalarType values_, type_;
  uint64_t state_ = 1;
};

// Empty where the table has none, which fails the row's test.
std::vector<Stack> samples(std::string_view op, Draw draw);

// What stands for eager's kernel where the CPU has none; else null.
using Reference = std::vector<at::Tensor> (*)(const Stack&);
Reference reference_of(std::string_view op);

}  // namespace aten_bridge
