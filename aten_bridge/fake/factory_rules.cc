// Factories without a C++ Meta kernel.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/infer.h"
#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// (n, *, dtype?, layout?, device?, pin_memory?)
Types randperm(Arguments a) {
  const auto dtype = a[1].isNone() ? c10::ScalarType::Long : a[1].toScalarType();
  return {dense({a[0].toInt()}, dtype, result_device(a))};
}

// (self, num_samples, replacement, *, generator?): one row of samples a distribution
Types multinomial(Arguments a) {
  Sizes sizes = tensor(a, 0).sizes().vec();
  sizes.back() = a[1].toInt();
  return {dense(sizes, c10::ScalarType::Long, tensor(a, 0))};
}

constexpr ShapeRule kRules[] = {
    {"aten::randperm", randperm},
    {"aten::multinomial", multinomial},
};

}  // namespace

std::span<const ShapeRule> factory_rules() { return kRules; }

}  // namespace aten_bridge
