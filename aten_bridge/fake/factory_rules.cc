// Factories without a C++ Meta kernel.
#include <algorithm>
#include <cmath>

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/native/RangeUtils.h>
#include <ATen/native/TensorFactories.h>
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
  const int64_t size = dtype == c10::ScalarType::Long
                           ? at::native::compute_arange_size<int64_t>(start, end, step)
                           : at::native::compute_arange_size<double>(start, end, step);
  return {dense({size}, dtype, result_device(args))};
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

// (start, end, steps, dtype?, layout?, device?, ...), (start, end, steps, base, dtype?, ...): some
// of the numbers are tensors, which do not tell the device
TensorType spaced(Arguments a, size_t options) {
  for (size_t end : {0, 1})
    TORCH_CHECK(!a[end].isTensor() || a[end].toTensor().dim() == 0,
                "an end of a space must be a 0-dimensional tensor");
  const auto is_complex = [](const c10::IValue& v) {
    return v.isTensor() ? v.toTensor().is_complex() : v.isScalar() && v.toScalar().isComplex();
  };
  const auto dtype = !a[options].isNone() ? a[options].toScalarType()
                     : is_complex(a[0]) || is_complex(a[1])
                         ? c10::toComplexType(c10::get_default_dtype_as_scalartype())
                         : c10::get_default_dtype_as_scalartype();
  return dense({a[2].toInt()}, dtype, result_device(a.subspan(options)));
}
Types linspace(Arguments a) { return {spaced(a, 3)}; }
Types logspace(Arguments a) { return {spaced(a, 4)}; }

// (row, col, offset, dtype?, layout?, device?, pin_memory?)
TensorType triangle(Arguments a, int64_t count) {
  const auto dtype = a[3].isNone() ? c10::ScalarType::Long : a[3].toScalarType();
  return dense({2, count}, dtype, result_device(a));
}
Types tril_indices(Arguments a) {
  return {triangle(a, at::native::get_tril_size(a[0].toInt(), a[1].toInt(), a[2].toInt()))};
}
Types triu_indices(Arguments a) {
  const int64_t rows = a[0].toInt(), columns = a[1].toInt();
  return {triangle(a, rows * columns - at::native::get_tril_size(rows, columns, a[2].toInt() - 1))};
}

// (mean, std, generator?): of the one that is a tensor
Types normal(Arguments a) {
  const at::Tensor& parameter = tensor(a, is_given(a, 0) ? 0 : 1);
  return {dense(parameter.sizes().vec(), parameter)};
}
Types normal_of_tensors(Arguments a) {
  const auto sizes = at::infer_size(tensor(a, 0).sizes(), tensor(a, 1).sizes());
  return {dense({sizes.begin(), sizes.end()}, tensor(a, 0))};
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

// (self, size, *, memory_format?)
Types resize(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes sizes = a[1].toIntVector();
  if (!a[2].isNone()) return {dense(sizes, self, a[2].toMemoryFormat())};
  return {self.sizes() == c10::IntArrayRef(sizes) ? like(self) : dense(sizes, self)};
}

constexpr ShapeRule kRules[] = {
    {"aten::resize", resize},
    {"aten::arange", arange},
    {"aten::arange.start", arange_from},
    {"aten::arange.start_step", arange_by},
    {"aten::eye", eye},
    {"aten::eye.m", eye_of_sizes},
    {"aten::linspace.Tensor_Tensor", linspace},
    {"aten::linspace.Tensor_Scalar", linspace},
    {"aten::linspace.Scalar_Tensor", linspace},
    {"aten::logspace.Tensor_Tensor", logspace},
    {"aten::logspace.Tensor_Scalar", logspace},
    {"aten::logspace.Scalar_Tensor", logspace},
    {"aten::tril_indices", tril_indices},
    {"aten::triu_indices", triu_indices},
    {"aten::normal.Tensor_float", normal},
    {"aten::normal.float_Tensor", normal},
    {"aten::normal.Tensor_Tensor", normal_of_tensors},
    {"aten::randperm", randperm},
    {"aten::multinomial", multinomial},
};

}  // namespace

std::span<const ShapeRule> factory_rules() { return kRules; }

}  // namespace aten_bridge
