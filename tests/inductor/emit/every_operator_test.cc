// Every scalar operator on every dtype of its domain, compiled, against the reference column.
#include <cmath>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/text.h"
#include "inductor/schedule/schedule.h"
#include "tests/inductor/support/compiled.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_append;
using aten_bridge::str_cat;

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32,
                             DType::kInt16,   DType::kInt8,    DType::kUInt8, DType::kBool};
constexpr int kExtent = 19;  // vectors of 8 and of 4, and what is left

// The functions that libtorch_cpu would bring, by libm: spelling and types are tested here.
constexpr const char* kSleef = R"(
#define SLEEF_1(name, ulp) SLEEF_1_F64(name, ulp) \
  extern "C" f32x8 Sleef_##name##f8_##ulp(f32x8 a) { \
    return td_lanes<f32x8>([&](int l) { return __builtin_##name##f(a[l]); }); }
#define SLEEF_1_F64(name, ulp) \
  extern "C" f64x4 Sleef_##name##d4_##ulp(f64x4 a) { \
    return td_lanes<f64x4>([&](int l) { return __builtin_##name(a[l]); }); }
#define SLEEF_2(name, ulp) \
  extern "C" f32x8 Sleef_##name##f8_##ulp(f32x8 a, f32x8 b) { \
    return td_lanes<f32x8>([&](int l) { return __builtin_##name##f(a[l], b[l]); }); } \
  extern "C" f64x4 Sleef_##name##d4_##ulp(f64x4 a, f64x4 b) { \
    return td_lanes<f64x4>([&](int l) { return __builtin_##name(a[l], b[l]); }); }
SLEEF_1_F64(exp, u10) SLEEF_1_F64(erf, u10) SLEEF_1_F64(tanh, u10)
SLEEF_1(exp2, u10) SLEEF_1(expm1, u10) SLEEF_1(log, u10) SLEEF_1(log2, u10) SLEEF_1(log10, u10)
SLEEF_1(log1p, u10) SLEEF_1(sin, u10) SLEEF_1(cos, u10) SLEEF_1(tan, u10) SLEEF_1(asin, u10)
SLEEF_1(acos, u10) SLEEF_1(atan, u10) SLEEF_1(sinh, u10) SLEEF_1(cosh, u10) SLEEF_1(asinh, u10)
SLEEF_1(acosh, u10) SLEEF_1(atanh, u10) SLEEF_1(erfc, u15) SLEEF_1(lgamma, u10)
SLEEF_2(pow, u10) SLEEF_2(atan2, u10) SLEEF_2(hypot, u05)
)";

// y[i] = op(a[i], b[i], c[i])
std::string program_text(const ScalarOpRow& row, DType dtype) {
  const std::string type{to_string(dtype)};
  const std::string result = row.result == ScalarResult::kBool ? "bool" : type;
  std::string inputs, args;
  for (int a = 0; a < row.arity; ++a) {
    const bool condition = row.op == ScalarOp::select && a == 0;
    str_append(&inputs, a ? ", " : "", "x", a, ": ", condition ? "bool" : type, "[", kExtent, "]");
    str_append(&args, a ? ", " : "", "x", a, "[i0]");
  }
  return str_cat("loops 1 ", row.name, "_", type, "(", inputs, ") -> y {\n  y: ", result, "[",
                 kExtent, "] output\n  for i0 < ", kExtent, "\n    y[i0] = ", row.name, "(", args,
                 ")\n}\n");
}

bool is_close(const ScalarValue& a, const ScalarValue& b) {
  if (!aten_bridge::is_floating(a.dtype)) return a.integer == b.integer;
  if (std::isnan(a.floating)) return std::isnan(b.floating);
  if (std::isinf(a.floating) || a.floating == b.floating)
    return a.floating == b.floating && std::signbit(a.floating) == std::signbit(b.floating);
  const double tolerance = a.dtype == DType::kFloat32 ? 1e-6 : 1e-12;
  return std::fabs(a.floating - b.floating) <= tolerance * std::max(1.0, std::fabs(a.floating));
}

void compare(const std::string& flags, const std::string& definitions) {
  std::vector<LoopProgram> programs;
  std::vector<std::vector<Array>> inputs;
  for (const ScalarOpRow& row : scalar_ops()) {
    for (DType dtype : kDTypes) {
      if (!is_defined_on(row, dtype)) continue;
      auto program = parse_loops(program_text(row, dtype));
      ASSERT_TRUE(program.ok()) << program.status();
      std::vector<Array>& arrays = inputs.emplace_back();
      for (int b : program->inputs)
        arrays.push_back(random_array(program->buffers[b].type, 7u + static_cast<unsigned>(b),
                                      /*specials=*/true));
      programs.push_back(std::move(*program));
    }
  }
  std::vector<LoopProgram> scheduled;
  std::vector<std::vector<Array>> expected;
  std::vector<const LoopProgram*> pointers;
  for (size_t i = 0; i < programs.size(); ++i) {
    expected.push_back(evaluate(programs[i], inputs[i]));
    schedule(programs[i], Features());
    pointers.push_back(&programs[i]);
  }
  const CompiledKernels kernels = compile_kernels(pointers, flags, definitions);
  for (size_t i = 0; i < programs.size(); ++i) {
    const std::vector<Array> actual = kernels.run(i, inputs[i]);
    for (int n = 0; n < kExtent; ++n) {
      const ScalarValue &want = expected[i][0].data[n], &got = actual[0].data[n];
      std::string args;
      for (const Array& a : inputs[i])
        str_append(&args, a.data[n].floating, "|", a.data[n].integer, " ");
      EXPECT_TRUE(is_close(want, got))
          << programs[i].name << " of " << args << "is " << got.floating << "|" << got.integer
          << ", not " << want.floating << "|" << want.integer << ", at " << n;
    }
  }
}

TEST(EveryOperator, ComputesItsReferenceInVectors) { compare("-O1 -mavx2 -mfma -mf16c", kSleef); }

TEST(EveryOperator, ComputesItsReferenceWithoutAvx2) { compare("-O1 -mno-avx", ""); }

}  // namespace
}  // namespace inductor::testing
