// Factories without a C++ Meta kernel.
#include <algorithm>
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DefaultDtype.h>

#include "aten_bridge/fake/infer.h"
#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

bool integral(const c10::IValue& number) {
  return number.toScalar().isIntegral(/*includeBool=*/true);
}

// From `start` to `end` by `step`, of what `options` (dtype?, layout?, device?, pin_memory?) says.
Types range(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, Arguments args,
            size_t options) {
  const auto numbers = args.first(options);
  const auto dtype = !args[options].isNone() ? args[options].toScalarType()
                     : std::all_of(numbers.begin(), numbers.end(), integral)
                         ? c10::ScalarType::Long
                         : c10::get_default_dtype_as_scalartype();
  const double distance = dtype == c10::ScalarType::Long
                              ? static_cast<double>(end.to<int64_t>() - start.to<int64_t>())
                              : end.to<double>() - start.to<double>();
  const double by =
      dtype == c10::ScalarType::Long ? static_cast<double>(step.to<int64_t>()) : step.to<double>();
  return {dense({static_cast<int64_t>(std::ceil(distance / by))}, dtype, result_device(args))};
}

// (end, ...), (start, end, ...), (start, end, step, ...)
Types arange(Arguments a) { return range(0, a[0].toScalar(), 1, a, 1); }
Types arange_from(Arguments a) { return range(a[0].toScalar(), a[1].toScalar(), 1, a, 2); }
Types arange_by(Arguments a) {
  return range(a[0].toScalar(), a[1].toScalar(), a[2].toScalar(), a, 3);
}

c10::ScalarType dtype_at(Arguments a, size_t i) {
  return a[i].isNone() ? c10::get_default_dtype_as_scalartype() : a[i].toScalarType();
}

// (n, dtype?, ...), (n, m, dtype?, ...)
Types eye(Arguments a) {
  return {dense({a[0].toInt(), a[0].toInt()}, dtype_at(a, 1), result_device(a))};
}
Types eye_of_sizes(Arguments a) {
  return {dense({a[0].toInt(), a[1].toInt()}, dtype_at(a, 2), result_device(a))};
}

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
    {"aten::arange", arange},
    {"aten::arange.start", arange_from},
    {"aten::arange.start_step", arange_by},
    {"aten::eye", eye},
    {"aten::eye.m", eye_of_sizes},
    {"aten::randperm", randperm},
    {"aten::multinomial", multinomial},
};

}  // namespace

std::span<const ShapeRule> factory_rules() { return kRules; }

}  // namespace aten_bridge
