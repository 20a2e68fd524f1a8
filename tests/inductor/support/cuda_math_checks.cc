#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/dialect.h"
#include "tests/inductor/support/cuda_checks.h"

namespace inductor::testing {

using aten_bridge::str_append;
using aten_bridge::str_cat;

namespace {

constexpr int kThreads = 256;

struct Function {
  const char* name;
  double (*exact)(double);
};
const Function kOurs[] = {{"td_erf", std::erf}, {"td_tanh", std::tanh}};

// How many units in the last place of a float lie between them.
double error_in_ulp(float got, double want) {
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

void expect_near(const Function& function, float x, float got) {
  const double want = function.exact(x);
  if (std::isnan(x))
    ASSERT_TRUE(std::isnan(got)) << function.name;
  else
    ASSERT_LE(error_in_ulp(got, want), 2) << function.name << " of " << x << ": " << got;
  ASSERT_EQ(std::signbit(x), std::signbit(got)) << function.name << " of " << x;
}

}  // namespace

CudaCheck functions_check() {
  std::vector<float> x = {0.0f, -0.0f, INFINITY, -INFINITY};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isnan(value)) x.push_back(value);
  }
  x.push_back(NAN);
  const int count = static_cast<int>(x.size());
  std::string body = str_cat("  const int i = ", kThreads, " * td_block() + td_thread();\n",
                             "  if (i >= ", count, ") return;\n");
  std::string parameters = "const float* in0";
  for (size_t f = 0; f < std::size(kOurs); ++f) {
    str_append(&body, "  out", f, "[i] = ", kOurs[f].name, "(in0[i]);\n");
    str_append(&parameters, ", float* out", f);
  }
  const EmittedKernel kernel =
      cuda_kernel("functions", parameters, body, (count + kThreads - 1) / kThreads, kThreads);
  const auto compare = [=](const CudaRunner& runner) {
    std::vector<Bytes> buffers(1 + std::size(kOurs), Bytes(x.size() * 4));
    buffers[0] = to_bytes<float>(x);
    runner.run(kernel, buffers);
    for (size_t f = 0; f < std::size(kOurs); ++f) {
      const auto got = from_bytes<float>(buffers[1 + f]);
      for (size_t i = 0; i < x.size(); ++i) expect_near(kOurs[f], x[i], got[i]);
    }
  };
  return {kernel.name, {kernel}, compare};
}

CudaCheck rounded_arithmetic_check(DType half) {
  const std::string type = cuda_dialect().type(half, 1);
  std::string body = str_cat("  const int i = ", kThreads, " * td_block() + td_thread();\n",
                             "  const float a = td_cast<float>(", type, "{uint16_t(i)});\n",
                             "  for (int j = i % 61; j < 65536; j += 997) {\n",
                             "    const float b = td_cast<float>(", type, "{uint16_t(j)});\n");
  int n = 0;
  for (const auto& [name, sign] :
       {std::pair("add", "+"), std::pair("sub", "-"), std::pair("mul", "*")}) {
    str_append(&body, "    const float x", n, " = td_", name, "_rounded<", type, ">(a, b);\n");
    str_append(&body, "    const float y", n, " = td_round_to<", type, ">(a ", sign, " b);\n");
    str_append(&body, "    if (x", n, " == x", n, " || y", n, " == y", n,
               ")\n      out0[i] |= __builtin_bit_cast(uint32_t, x", n,
               ") != __builtin_bit_cast(uint32_t, y", n, ") ? ", 1 << n, " : 0;\n");
    ++n;
  }
  const EmittedKernel kernel =
      cuda_kernel(str_cat("rounded_arithmetic_", aten_bridge::to_string(half)), "uint8_t* out0",
                  body + "  }\n", 65536 / kThreads, kThreads);
  const auto compare = [=](const CudaRunner& runner) {
    std::vector<Bytes> buffers = {Bytes(65536)};
    runner.run(kernel, buffers);
    for (size_t i = 0; i < 65536; ++i) ASSERT_EQ(int{buffers[0][i]}, 0) << "with bits " << i;
  };
  return {kernel.name, {kernel}, compare};
}

}  // namespace inductor::testing
