#include "inductor/emit/dialect.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace inductor {
namespace {

TEST(CppDialect, WritesLiteralsExactly) {
  const Dialect& cpp = cpp_dialect();
  EXPECT_EQ(cpp.literal(DType::kFloat32, static_cast<double>(0.1f)), "0x1.99999ap-4f");
  EXPECT_EQ(cpp.literal(DType::kFloat64, 0.1), "0x1.999999999999ap-4");
  EXPECT_EQ(cpp.literal(DType::kFloat32, 0.5), "0.5f");
  EXPECT_EQ(cpp.literal(DType::kFloat32, -3.0), "(-3.0f)");
  EXPECT_EQ(cpp.literal(DType::kFloat64, -0.0), "(-0x0p+0)");
  EXPECT_EQ(cpp.literal(DType::kFloat32, std::nan("")), "__builtin_nanf(\"\")");
  EXPECT_EQ(cpp.literal(DType::kFloat32, -INFINITY), "(-__builtin_inff())");
  EXPECT_EQ(cpp.literal(DType::kInt64, INT64_MIN), "int64_t(-9223372036854775807LL - 1)");
  EXPECT_EQ(cpp.literal(DType::kInt64, int64_t{-5}), "int64_t(-5)");
  EXPECT_EQ(cpp.literal(DType::kInt32, int64_t{INT32_MIN}), "(-2147483647 - 1)");
  EXPECT_EQ(cpp.literal(DType::kInt8, int64_t{-128}), "int8_t(-128)");
  EXPECT_EQ(cpp.literal(DType::kBool, int64_t{1}), "true");
}

TEST(CppDialect, GivesSmallIntegersTheirOwnTypeBack) {
  const std::string args[] = {"a", "b"};
  EXPECT_EQ(cpp_dialect().apply(ScalarOp::add, DType::kInt8, 1, args), "int8_t((a + b))");
  EXPECT_EQ(cpp_dialect().apply(ScalarOp::add, DType::kInt8, 8, args), "(a + b)");
  EXPECT_EQ(cpp_dialect().apply(ScalarOp::lt, DType::kInt8, 1, args), "(a < b)");
}

TEST(CppDialect, MakesBoolsOfVectorComparisons) {
  const std::string args[] = {"a", "b"};
  EXPECT_EQ(cpp_dialect().apply(ScalarOp::lt, DType::kFloat32, 8, args), "td_bool(a < b)");
}

TEST(CppDialect, LetsADialectDifferInARow) {
  constexpr TypeName types[] = {{DType::kFloat32, "float"}};
  constexpr Spelling differences[] = {{ScalarOp::rsqrt, DType::kFloat32, "rsqrtf($0)"}};
  const Dialect other(types, differences);
  const std::string args[] = {"x"};
  EXPECT_EQ(other.apply(ScalarOp::rsqrt, DType::kFloat32, 1, args), "rsqrtf(x)");
  EXPECT_EQ(other.apply(ScalarOp::sqrt, DType::kFloat32, 1, args), "td_sqrt(x)");
}

TEST(CudaDialect, WrapsWhereTheCompilerWouldNot) {
  const std::string args[] = {"a", "b"};
  const Dialect& cuda = cuda_dialect();
  EXPECT_EQ(cuda.apply(ScalarOp::add, DType::kInt64, 1, args), "td_add(a, b)");
  EXPECT_EQ(cuda.apply(ScalarOp::mul, DType::kInt32, 1, args), "td_mul(a, b)");
  EXPECT_EQ(cuda.apply(ScalarOp::add, DType::kInt16, 1, args), "int16_t((a + b))");
  EXPECT_EQ(cuda.apply(ScalarOp::add, DType::kFloat32, 1, args), "(a + b)");
}

}  // namespace
}  // namespace inductor
