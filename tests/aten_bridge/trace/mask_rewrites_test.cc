#include "aten_bridge/trace/mask_rewrites.h"

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

using at::indexing::Slice;

at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

at::Tensor mask_of(at::IntArrayRef sizes) { return torch::rand(sizes) < 0.5; }

bool has(const Captured& captured, const std::string& op) {
  for (const auto& node : captured.joint.graph.nodes())
    if (node->op == op) return true;
  return false;
}

TEST(MaskRewrites, AMaskPicksWhereItHolds) {
  expect_same_as_eager({{"x", leaf({4, 5, 6})},
                        {"all", mask_of({4, 5, 6})},
                        {"rows", mask_of({4})},
                        {"i", torch::tensor({0, 2, 3})}},
                       [](const Tensors& t) {
                         return Tensors{t[0].index({t[1]}), t[0].index({t[2]}),
                                        t[0].index({Slice(), Slice(), t[1][0][0]}),
                                        t[0].index({t[2], t[3].sum() * 0})};
                       });
}

TEST(MaskRewrites, AMaskSaysWhereValuesArePut) {
  expect_same_as_eager({{"x", leaf({4, 5})},
                        {"rows", torch::tensor({true, false, true, false})},
                        {"v", leaf({2, 5})}},
                       [](const Tensors& t) {
                         at::Tensor y = t[0] * 2;
                         y.index_put_({t[1]}, t[2]);
                         return Tensors{y, t[0].index_put({t[1]}, t[2], /*accumulate=*/true)};
                       });
}

TEST(MaskRewrites, OneNumberIsPutWithoutReadingTheMask) {
  const Named inputs{{"x", leaf({4, 5, 6})}, {"mask", mask_of({5, 6})}, {"v", leaf({})}};
  const TracedCallable program = [](const Tensors& t) {
    at::Tensor y = t[0] + 1;
    y.index_put_({Slice(), t[1]}, t[2]);
    return Tensors{y, t[0].index_put({t[1].select(1, 0).narrow(0, 0, 4)}, t[2].reshape({1}))};
  };
  expect_same_as_eager(inputs, program);
  EXPECT_FALSE(has(capture_named(inputs, program), "aten::nonzero"));
}

TEST(MaskRewrites, AMaskOfOtherSizesRaises) {
  EXPECT_THROW(capture_named({{"x", leaf({4, 5})}, {"mask", mask_of({3})}},
                             [](const Tensors& t) { return Tensors{t[0].index({t[1]})}; }),
               c10::IndexError);
}

}  // namespace
}  // namespace aten_bridge
