#include "aten_bridge/trace/rewrites.h"

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

void expect_close(const Tensors& want, const Tensors& got) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(want[i].strides(), got[i].strides()) << i;
    EXPECT_TRUE(got[i].allclose(want[i], 1e-4, 1e-4)) << i << got[i] - want[i];
  }
}

// oneDNN runs each layer and direction whole, and keeps a workspace for its backward.
TEST(Rewrites, AnLstmOfTwoLayersAndDirectionsTrains) {
  constexpr int64_t kTime = 4, kBatch = 3, kIn = 5, kHidden = 6;
  Named inputs{{"x", leaf({kTime, kBatch, kIn})},
               {"h", leaf({4, kBatch, kHidden})},
               {"c", leaf({4, kBatch, kHidden})}};
  for (int64_t layer : {0, 1})
    for (int64_t direction : {0, 1}) {
      const std::string n = std::to_string(2 * layer + direction);
      inputs.push_back({"wi" + n, leaf({4 * kHidden, layer == 0 ? kIn : 2 * kHidden})});
      inputs.push_back({"wh" + n, leaf({4 * kHidden, kHidden})});
      inputs.push_back({"bi" + n, leaf({4 * kHidden})});
      inputs.push_back({"bh" + n, leaf({4 * kHidden})});
    }
  const TracedCallable program = [](const Tensors& t) {
    const Tensors state{t[1], t[2]}, weights(t.begin() + 3, t.end());
    const auto [y, h, c] = at::lstm(t[0], state, weights, /*has_biases=*/true, /*num_layers=*/2,
                                    /*dropout=*/0, /*train=*/true, /*bidirectional=*/true,
                                    /*batch_first=*/false);
    return Tensors{y, h, c};
  };
  const Captured captured = capture_named(inputs, program);
  int layers = 0;
  for (const auto& node : captured.joint.graph.nodes())
    layers += node->op == "aten::mkldnn_rnn_layer_backward";
  EXPECT_EQ(layers, 4);
  const Outcome want = run_eager(inputs, program), got = run_graph(inputs, captured);
  expect_close(want.results, got.results);
  expect_close(want.grads, got.grads);
}

TEST(Rewrites, BatchNormOfCudnnTrainsWithoutRunningStatistics) {
  const Named inputs{{"x", leaf({4, 3, 5, 5})}, {"w", leaf({3})}, {"b", leaf({3})}};
  const TracedCallable of_cudnn = [](const Tensors& t) {
    return Tensors{std::get<0>(at::cudnn_batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5))};
  };
  const TracedCallable on_this_device = [](const Tensors& t) {
    return Tensors{at::batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, false)};
  };
  const Captured captured = capture_named(inputs, of_cudnn);
  const Outcome want = run_eager(inputs, on_this_device), got = run_graph(inputs, captured);
  expect_close(want.results, got.results);
  expect_close(want.grads, got.grads);
}

at::Tensor complex_leaf(at::IntArrayRef sizes) {
  return torch::randn(sizes, at::kComplexDouble).requires_grad_();
}

TEST(Rewrites, AGradientOfAComplexSvdChecksTheLossInEachRun) {
  const Named inputs{{"x", complex_leaf({3, 2})}};
  const TracedCallable program = [](const Tensors& t) {
    const auto [u, s, vh] = at::linalg_svd(t[0], /*full_matrices=*/false);
    return Tensors{u.abs(), s, vh.abs()};
  };
  const Captured captured = capture_named(inputs, program);
  EXPECT_THAT(print(captured.joint.graph), testing::HasSubstr("aten::_assert_async.msg"));
  const Outcome want = run_eager(inputs, program), got = run_graph(inputs, captured);
  expect_close(want.results, got.results);
  expect_close(want.grads, got.grads);
}

TEST(Rewrites, AGradientOfAComplexSvdRaisesWhereTheLossDependsOnThePhase) {
  const Named inputs{{"x", complex_leaf({3, 2})}};
  const TracedCallable program = [](const Tensors& t) {
    return Tensors{std::get<0>(at::linalg_svd(t[0], /*full_matrices=*/false))};
  };
  const auto message_of = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "";
  };
  const std::string want = message_of([&] { run_eager(inputs, program); });
  const Captured captured = capture_named(inputs, program);
  EXPECT_THAT(want, testing::HasSubstr("depends on this phase term"));
  EXPECT_EQ(message_of([&] { run_graph(inputs, captured); }), want);
}

TEST(Rewrites, ATensorOfTheProgramsOwnIsResized) {
  expect_same_as_eager({{"x", torch::randn({4, 6})}, {"y", torch::randn({3, 2})}},
                       [](const Tensors& t) {
                         const at::Tensor smaller = t[0].clone().resize_({5});
                         const at::Tensor same = t[0].t().clone().resize_({6, 4});
                         const at::Tensor like = t[0].clone().resize_as_(t[1]);
                         const at::Tensor larger = t[1].clone().resize_({4, 3}).fill_(2);
                         return Tensors{smaller, same, like, larger};
                       });
}

TEST(Rewrites, ATensorIsResizedInAMemoryFormat) {
  expect_same_as_eager({{"x", torch::randn({120})}}, [](const Tensors& t) {
    const at::Tensor like = torch::empty({1, 3, 2, 2}).to(at::MemoryFormat::ChannelsLast);
    at::Tensor x = t[0].clone(), y = t[0].clone();
    x.resize_({2, 3, 4, 5}, at::MemoryFormat::ChannelsLast);
    y.resize_as_(like, at::MemoryFormat::Preserve);
    return Tensors{x, y};
  });
}

TEST(Rewrites, AStepOfFusedAdamWithoutLargestSquaresChangesItsLists) {
  const at::NoGradGuard no_grad;
  const Named inputs{{"p", torch::randn({3, 4})}, {"q", torch::randn({5})},
                     {"g", torch::randn({3, 4})}, {"e", torch::randn({5})},
                     {"m", torch::zeros({3, 4})}, {"n", torch::zeros({5})},
                     {"v", torch::zeros({3, 4})}, {"u", torch::zeros({5})},
                     {"s", torch::ones({})},      {"r", torch::ones({})}};
  expect_same_as_eager(inputs, [](const Tensors& t) {
    at::_fused_adamw_({t[0], t[1]}, {t[2], t[3]}, {t[4], t[5]}, {t[6], t[7]}, {}, {t[8], t[9]},
                      /*lr=*/0.1, /*beta1=*/0.9, /*beta2=*/0.99, /*weight_decay=*/0.1,
                      /*eps=*/1e-8, /*amsgrad=*/false, /*maximize=*/false);
    return Tensors{t[0].sum()};
  });
}

TEST(Rewrites, AStepOfFusedSgdWithoutMomentumChangesItsParameters) {
  const at::NoGradGuard no_grad;
  const Named inputs{{"p", torch::randn({3, 4})}, {"g", torch::randn({3, 4})}};
  expect_same_as_eager(inputs, [](const Tensors& t) {
    at::_fused_sgd_({t[0]}, {t[1]}, {}, /*weight_decay=*/0.1, /*momentum=*/0, /*lr=*/0.1,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/true,
                    /*is_first_step=*/false);
    return Tensors{t[0].sum()};
  });
}

// LibTorch reads the places itself; here each run checks that they are the same.
TEST(Rewrites, ATensorIsSplitAtPlacesThatATensorHolds) {
  expect_same_as_eager(
      {{"x", leaf({7, 6})}, {"places", torch::tensor({1, 4})}, {"count", torch::tensor(3)}},
      [](const Tensors& t) {
        Tensors parts;
        for (const at::Tensor& part : at::tensor_split(t[0], t[1], 0)) parts.push_back(part * 2);
        for (const at::Tensor& part : at::tensor_split(t[0], t[2], 1)) parts.push_back(part * 3);
        return parts;
      });
}

TEST(Rewrites, ASplitAtPlacesThatAreNoIntegersRaises) {
  EXPECT_THROW(capture_named({{"x", leaf({7, 6})}, {"places", torch::rand({2})}},
                             [](const Tensors& t) { return at::tensor_split(t[0], t[1], 0); }),
               c10::Error);
}

// How many residuals there are depends on the rank.
TEST(Rewrites, LeastSquaresTakeTheSizesThatTheyHave) {
  expect_same_as_eager({{"a", torch::randn({5, 3})}, {"b", torch::randn({5, 2})}},
                       [](const Tensors& t) {
                         const auto [solution, residuals, rank, values] =
                             at::linalg_lstsq(t[0], t[1], std::nullopt, "gelsd");
                         return Tensors{solution * 2, residuals + 1, rank + 1, values + 1};
                       });
}

}  // namespace
}  // namespace aten_bridge
