#include "inductor/ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inductor {
namespace {

using ::testing::HasSubstr;

// Every kind of statement, loop flag, role, literal and argument.
constexpr std::string_view kEverything =
    R"(loops 1 all(x: f32[8, 128], w: bf16[10, 128]{1, 10}, ids: i64[8]) -> buf1, none, x[128]{1} + 128 {
  buf0: f32[8]
  buf1: f32[8, 128] output
  buf2: i64[8]
  buf3: f32[10, 128]
  buf4: f64[8]
  tmp: f32[128] local
  for i0 < 8  # aten::amax
    for i1 < 128 reduction
      buf0[i0] max= x[128*i0 + i1]
  kernel softmax  # aten::sub, aten::exp
    for i0 < 8 parallel
      for i1 < 128 vector
        %0 = sub(x[128*i0 + i1], buf0[i0])
        tmp[i1] = mul(%0, add(%0, -1.5:f32))
      for i1 < 128 vector
        buf1[128*i0 + i1] = select(lt(tmp[i1], 0.1:f32), inf:f32, tmp[i1])
  for i2 < 8
    buf2[i2] = minimum(maximum(ids[i2], 0:i64), 9:i64)
  for i2 < 10
    for i3 < 128
      buf3[128*i2 + i3] = nan:f32
  for i2 < 8 reduction
    for i3 < 128
      %0 = minimum(maximum(ids[i2], 0:i64), 9:i64)
      buf3[i3 + 128*t0; %0] += f32(w[10*i3 + t0; %0])
  for i4 < 8
    buf4[i4] = select(bit_not(bit_or(true, false)), f64(index(floor_div(i4, 2))), 1e-300:f64)
  none = aten::foo(self=x, other=w[128]{10} + 3, list=[x, none], n=-3, sizes=[2, 3], a=0.5, b=1.0, c=[1.5, 2.0], d=true, e=[true, false], f=complex(1.0, -2.0), g="a # b", h=bf16, device=@cuda:1, t=tensor[], ds=double[], bs=bool[], none=none)
}
)";

TEST(LoopText, RoundTrips) {
  auto program = parse_loops(kEverything);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(print(*program), kEverything);
  EXPECT_TRUE(verify(*program).ok()) << verify(*program);
}

TEST(LoopText, PrintsASharedExpressionOnce) {
  auto program = parse_loops("loops 1 f(x: f32[4]) -> y {\n  y: f32[4] output\n}\n");
  ASSERT_TRUE(program.ok()) << program.status();
  ExprPool& pool = program->pool;
  const Symbol i0{'i', 0};
  Expr e = pool.load(0, SymExpr::symbol(i0), DType::kFloat32);
  for (int i = 0; i < 60; ++i) e = pool.apply(ScalarOp::mul, {e, e});
  program->next_var = 1;
  program->body.push_back(
      Loop{i0, 4, LoopKind::kSerial, false, false, {Store{1, SymExpr::symbol(i0), e}}});
  const std::string text = print(*program);
  EXPECT_LT(text.size(), 4000u);
  auto again = parse_loops(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(print(*again), text);
}

struct Malformed {
  std::string_view body, error;
};

class LoopTextError : public ::testing::TestWithParam<Malformed> {};

TEST_P(LoopTextError, NamesTheLineAndWhatWasExpected) {
  const std::string text =
      "loops 1 f(x: f32[4]) -> y {\n  y: f32[4] output\n" + std::string(GetParam().body) + "}\n";
  EXPECT_THAT(std::string(parse_loops(text).status().message()),
              HasSubstr(std::string(GetParam().error)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, LoopTextError,
    ::testing::Values(
        Malformed{"  for x < 4\n    y[0] = 1:f32\n", "line 3: expected an integer expression"},
        Malformed{"  for i0 < 4\n    y[i0] = foo(x[i0])\n", "line 4: expected a buffer, dtype"},
        Malformed{"  for i0 < 4\n    y[i0] = add(x[i0])\n", "takes 2 arguments"},
        Malformed{"  for i0 < 4\n    y[i0] = add(x[i0], 1:i64)\n", "argument 0 is f32, not i64"},
        Malformed{"  for i0 < 4\n   y[i0] x[i0]\n", "line 4: expected"},
        Malformed{"  for i0 < 4\n    y[i0] = %0\n", "defined above"},
        Malformed{"  z[0] = 1.0:f32\n", "line 3: expected"}));

struct Unlawful {
  std::string_view body, error;
};

class LoopLaw : public ::testing::TestWithParam<Unlawful> {};

TEST_P(LoopLaw, IsVerified) {
  const std::string text =
      "loops 1 f(x: f32[4], n: i64[4], h: bf16[4]) -> y {\n  y: f32[4] output\n"
      "  s: f32[]\n  l: bf16[]\n" +
      std::string(GetParam().body) + "}\n";
  auto program = parse_loops(text);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(std::string(verify(*program).message()), HasSubstr(std::string(GetParam().error)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, LoopLaw,
    ::testing::Values(
        Unlawful{"", "y is returned, never written"},
        Unlawful{"  for i0 < 4\n    y[i0] = y[i0]\n", "read before it is written"},
        Unlawful{"  for i0 < 5\n    y[i0] = 1.0:f32\n", "y[i0] may be 0 to 4 of 4"},
        Unlawful{"  for i0 < 4\n    y[i0] = x[i0 - 1]\n", "x[i0 - 1] may be -1 to 2 of 4"},
        Unlawful{"  for i0 < 4\n    y[i0] = x[i1]\n", "i1 is not in scope"},
        Unlawful{"  for i0 < 4\n    y[0] = x[i0]\n", "write the same element"},
        Unlawful{"  for i0 < 4\n    y[i0] = n[i0]\n", "y is f32, the value i64"},
        Unlawful{"  for i0 < 4\n    x[i0] = 1.0:f32\n", "x is an input, yet written"},
        Unlawful{"  s[0] += x[0]\n", "without a reduction loop"},
        Unlawful{"  for i0 < 4 reduction\n    y[i0] += x[i0]\n", "without a reduction loop"},
        Unlawful{"  for i0 < 4 reduction\n    l[0] += h[i0]\n", "accumulation in bf16"},
        Unlawful{"  for i0 < 4\n    for i0 < 4\n      y[i0] = 1.0:f32\n", "reused inside"},
        Unlawful{"  for i0 < 4\n    y[i0] = x[t0; n[i0]]\n", "x[t0] may be"},
        Unlawful{"  s = aten::sum(self=x)\n  s = aten::sum(self=x)\n", "s is written twice"}));

}  // namespace
}  // namespace inductor
