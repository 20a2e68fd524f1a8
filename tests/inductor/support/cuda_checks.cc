#include "tests/inductor/support/cuda_checks.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/dialect.h"

namespace inductor::testing {

using aten_bridge::str_append;
using aten_bridge::str_cat;

EmittedKernel cuda_kernel(const std::string& name, const std::string& parameters,
                          const std::string& body, int blocks, int threads) {
  return {name,
          str_cat("extern \"C\" __global__ void __launch_bounds__(", threads, ") ", name, "(",
                  parameters, ") {\n", body, "}\n"),
          {},
          {},
          {blocks, threads}};
}

CudaCheck literals_check() {
  const Dialect& cuda = cuda_dialect();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {inf, -inf, NAN, -0.0, 0.1, 1e-310, -1e30, 3};
  const std::vector<int64_t> integers = {INT64_MIN, INT64_MAX, -5, INT32_MIN};
  std::string body;
  for (size_t i = 0; i < values.size(); ++i)
    str_append(&body, "  out0[", i,
               "] = ", cuda.literal(DType::kFloat32, double{static_cast<float>(values[i])}),
               ";\n  out1[", i, "] = ", cuda.literal(DType::kFloat64, values[i]), ";\n");
  for (size_t i = 0; i < integers.size(); ++i)
    str_append(&body, "  out2[", i, "] = ", cuda.literal(DType::kInt64, integers[i]), ";\n");
  str_append(&body, "  out2[4] = ", cuda.literal(DType::kInt32, int64_t{INT32_MIN}), ";\n");
  const EmittedKernel kernel =
      cuda_kernel("literals", "float* out0, double* out1, int64_t* out2", body, 1, 32);
  const auto compare = [=](const CudaRunner& runner) {
    std::vector<Bytes> buffers = {Bytes(values.size() * 4), Bytes(values.size() * 8), Bytes(40)};
    runner.run(kernel, buffers);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto single = from_bytes<float>(buffers[0])[i];
      const auto wide = from_bytes<double>(buffers[1])[i];
      EXPECT_EQ(std::bit_cast<uint32_t>(single),
                std::bit_cast<uint32_t>(static_cast<float>(values[i])));
      EXPECT_EQ(std::bit_cast<uint64_t>(wide), std::bit_cast<uint64_t>(values[i]));
    }
    EXPECT_EQ(from_bytes<int64_t>(buffers[2]),
              (std::vector<int64_t>{INT64_MIN, INT64_MAX, -5, INT32_MIN, INT32_MIN}));
  };
  return {kernel.name, {kernel}, compare};
}

CudaCheck index_functions_check() {
  const EmittedKernel kernel = cuda_kernel("index_functions", "int64_t* out0",
                                           "  const int i = td_thread() - 16;\n"
                                           "  const int64_t j = i;\n"
                                           "  int64_t* const out = out0 + 8 * td_thread();\n"
                                           "  out[0] = floor_div(i, 5);\n"
                                           "  out[1] = floor_div(j, 5);\n"
                                           "  out[2] = mod(i, 5);\n"
                                           "  out[3] = mod(j, int64_t(5));\n"
                                           "  out[4] = min(i, 3);\n"
                                           "  out[5] = min(j, 3);\n"
                                           "  out[6] = max(i, int64_t(3));\n"
                                           "  out[7] = max(j * 10000000000, 3);\n",
                                           1, 32);
  const auto compare = [=](const CudaRunner& runner) {
    std::vector<Bytes> buffers = {Bytes(32 * 8 * 8)};
    runner.run(kernel, buffers);
    const auto got = from_bytes<int64_t>(buffers[0]);
    for (int64_t t = 0; t < 32; ++t) {
      const int64_t i = t - 16, quotient = (i + 20) / 5 - 4;
      const int64_t want[] = {quotient,
                              quotient,
                              i - 5 * quotient,
                              i - 5 * quotient,
                              std::min<int64_t>(i, 3),
                              std::min<int64_t>(i, 3),
                              std::max<int64_t>(i, 3),
                              std::max<int64_t>(i * 10000000000, 3)};
      for (int64_t n = 0; n < 8; ++n) EXPECT_EQ(got[static_cast<size_t>(8 * t + n)], want[n]) << i;
    }
  };
  return {kernel.name, {kernel}, compare};
}

CudaCheck overflow_check() {
  const Dialect& cuda = cuda_dialect();
  std::string body;
  for (const auto& [dtype, name] :
       {std::pair(DType::kInt32, "in0[0]"), std::pair(DType::kInt64, "in1[0]")}) {
    const std::string one = cuda.literal(dtype, int64_t{1}), two = cuda.literal(dtype, int64_t{2});
    const auto apply = [&, dtype = dtype](ScalarOp op, const std::string& a, const std::string& b) {
      const std::string args[] = {a, b};
      return cuda.apply(op, dtype, 1, std::span(args).first(static_cast<size_t>(row(op).arity)));
    };
    const std::string out = dtype == DType::kInt32 ? "out0[" : "out0[4 + ";
    str_append(&body, "  ", out, "0] = ", apply(ScalarOp::add, name, one), " > ", name, ";\n");
    str_append(&body, "  ", out, "1] = ", apply(ScalarOp::sub, apply(ScalarOp::neg, name, ""), two),
               " < ", apply(ScalarOp::neg, name, ""), ";\n");
    str_append(&body, "  ", out,
               "2] = ", apply(ScalarOp::trunc_div, apply(ScalarOp::mul, name, two), two),
               " == ", name, ";\n");
    str_append(&body, "  ", out, "3] = ", apply(ScalarOp::abs, apply(ScalarOp::add, name, one), ""),
               " >= 0;\n");
  }
  const EmittedKernel kernel =
      cuda_kernel("overflow", "const int32_t* in0, const int64_t* in1, bool* out0", body, 1, 32);
  const auto compare = [=](const CudaRunner& runner) {
    const int32_t most = INT32_MAX;
    const int64_t most_long = INT64_MAX;
    std::vector<Bytes> buffers = {to_bytes(std::span(&most, 1)), to_bytes(std::span(&most_long, 1)),
                                  Bytes(8, 1)};
    runner.run(kernel, buffers);
    EXPECT_EQ(buffers[2], Bytes(8, 0));
  };
  return {kernel.name, {kernel}, compare};
}

std::vector<CudaCheck> cuda_checks() {
  std::vector<CudaCheck> checks = {literals_check(), index_functions_check(), overflow_check(),
                                   memory_check(), functions_check()};
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt64,
        DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8, DType::kBool}) {
    const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
    if (!is_half) checks.push_back(operators_check(dtype));
    checks.push_back(casts_check(dtype));
    if (!is_half) continue;
    checks.push_back(rounding_check(dtype));
    checks.push_back(rounded_arithmetic_check(dtype));
  }
  for (int lanes : {32, 64, 96, 256, 1024}) checks.push_back(across_check(lanes));
  for (const auto& [lanes, groups] : {std::pair(32, 1), std::pair(32, 8), std::pair(64, 15),
                                      std::pair(128, 3), std::pair(32, 32)})
    checks.push_back(between_check(lanes, groups));
  return checks;
}

}  // namespace inductor::testing
