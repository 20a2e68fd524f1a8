#include "aten_bridge/trace/lazy_bits.h"

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

using testing::HasSubstr;
using testing::Not;

at::Tensor complex(at::IntArrayRef sizes) { return torch::randn(sizes, at::kComplexFloat); }
at::Tensor complex_leaf(at::IntArrayRef sizes) { return complex(sizes).requires_grad_(); }

TEST(LazyBits, AConjugateIsComputed) {
  const Captured c = capture_named({{"x", complex({2, 3})}, {"y", complex({2, 3})}},
                                   [](const Tensors& t) { return Tensors{t[0].conj() * t[1]}; });
  EXPECT_THAT(print(c.joint.graph), HasSubstr("aten::_conj_physical(x)"));
  EXPECT_THAT(print(c.joint.graph), Not(HasSubstr("aten::_conj(")));
}

TEST(LazyBits, ConjugatesHaveEagersValuesAndGradients) {
  expect_same_as_eager(
      {{"x", complex_leaf({3, 4})}, {"y", complex_leaf({3, 4})}}, [](const Tensors& t) {
        const at::Tensor z = t[0].conj() * t[1] + t[1].mH().mT().conj();
        return Tensors{z.mm(t[0].mH()), t[0].conj().conj() * 2, at::real(t[1].conj()) * 3,
                       at::imag(t[0].conj()) + 1, z.conj().abs()};
      });
}

TEST(LazyBits, NegatedViewsHaveEagersValues) {
  expect_same_as_eager({{"x", complex_leaf({3, 4})}}, [](const Tensors& t) {
    const at::Tensor negated = at::_neg_view(t[0]);
    return Tensors{negated * t[0], at::_neg_view(negated) + 1, at::view_as_real(negated.clone())};
  });
}

TEST(LazyBits, AMutationThroughAConjugateReachesTheBase) {
  expect_same_as_eager({{"x", complex({3, 4})}}, [](const Tensors& t) {
    at::Tensor y = t[0] * 2;
    y.conj().mul_(c10::complex<double>(0, 1));
    t[0].conj().select(0, 1).add_(c10::complex<double>(1, 2));
    at::imag(y).zero_();
    return Tensors{y};
  });
}

TEST(LazyBits, GradientsThatAreLazilyZero) {
  expect_same_as_eager({{"x", complex_leaf({3})}}, [](const Tensors& t) {
    return Tensors{t[0].sgn(), t[0].abs(), t[0].angle()};
  });
}

// The kernel itself takes the conjugate, which is computed here, as another matrix by columns: who
// runs the graph copies into these strides.
TEST(LazyBits, ATriangularSolveWithAConjugateLiesInMemoryAsInEager) {
  const at::Tensor a = complex({3, 3}), b = complex({3, 2});
  const auto solve = [](const at::Tensor& matrix, const at::Tensor& right) {
    return at::linalg_solve_triangular(matrix, right, /*upper=*/false);
  };
  const Captured c = capture_named({{"a", a}, {"b", b}}, [&](const Tensors& t) {
    return Tensors{solve(t[0].mH(), t[1]), solve(t[0], t[1])};
  });
  EXPECT_EQ(solve(a.mH(), b).strides(), at::IntArrayRef({2, 1}));
  EXPECT_THAT(print(c.joint.graph), HasSubstr("c64[3, 2] = aten::linalg_solve_triangular(%1"));
  EXPECT_EQ(solve(a, b).strides(), at::IntArrayRef({1, 3}));
  EXPECT_THAT(print(c.joint.graph), HasSubstr("c64[3, 2]{1, 3} = aten::linalg_solve_triangular(a"));
}

TEST(LazyBits, AResultThatIsALazyViewOfAnInputIsRefused) {
  EXPECT_THAT(
      refusal_of({{"x", complex({3})}}, [](const Tensors& t) { return Tensors{t[0].conj()}; }),
      HasSubstr("lazily conjugated"));
}

}  // namespace
}  // namespace aten_bridge
