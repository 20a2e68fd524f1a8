#include "aten_bridge/trace/attention_masks.h"

#include <limits>

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kQueries = 6;
const double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor at_and_before() { return at::ones({kQueries, kQueries}, at::kBool).tril(); }

at::Tensor adding(double closed) {
  return at::zeros({kQueries, kQueries}).masked_fill(at_and_before().logical_not(), closed);
}

struct Case {
  const char* name;
  // Of the program's inputs: q [2, 3, 6, 8] and a mask of true [2, 1, 1, 6].
  at::Tensor (*mask)(const Tensors& t);
  const char* attention;
  int64_t keys = kQueries;
};

constexpr const char* kNone = "is_causal=false, attn_mask=none";
constexpr const char* kCausal = "is_causal=true, attn_mask=none";
constexpr const char* kKept = "is_causal=false, attn_mask=%";

const Case kCases[] = {
    {"all keys, as a broadcast",
     [](const Tensors&) {
       return at::arange(kQueries)
           .view({1, 1, kQueries, 1})
           .ge(0)
           .expand({2, 1, kQueries, kQueries});
     },
     kNone},
    {"all keys, adding nothing",
     [](const Tensors& t) {
       return at::zeros({kQueries, kQueries}, t[0].options());
     },
     kNone},
    {"all of some keys",
     [](const Tensors&) {
       return at::ones({kQueries, 9}, at::kBool);
     },
     kNone, 9},
    {"causal", [](const Tensors&) { return at_and_before(); }, kCausal},
    {"causal, by comparison, for each of the batch",
     [](const Tensors&) {
       const at::Tensor at = at::arange(kQueries);
       return at.view({1, 1, 1, -1})
           .le(at.view({1, 1, -1, 1}))
           .expand({2, 1, -1, -1})
           .logical_and(at::ones({2, 1, 1, 1}, at::kBool));
     },
     kCausal},
    {"causal, adding minus infinity", [](const Tensors&) { return adding(-kInfinity); }, kCausal},
    {"causal, adding the least number",
     [](const Tensors&) { return adding(std::numeric_limits<float>::lowest()); }, kCausal},
    {"adding some number", [](const Tensors&) { return adding(-1); }, kKept},
    {"a window", [](const Tensors&) { return at_and_before().triu(-2); }, kKept},
    {"causal, of more keys",
     [](const Tensors&) {
       return at::ones({kQueries, 9}, at::kBool).tril();
     },
     kKept, 9},
    {"an input's",
     [](const Tensors& t) {
       return t[1].expand({2, 1, kQueries, kQueries});
     },
     kKept},
    {"drawn",
     [](const Tensors&) {
       return at::rand({kQueries, kQueries}).ge(-1);
     },
     kKept},
};

TracedCallable attention(const Case& c) {
  return [&c](const Tensors& t) {
    const at::Tensor keys = at::cat({t[0], t[0]}, 2).slice(2, 0, c.keys);
    return Tensors{at::scaled_dot_product_attention(t[0], keys, keys.tanh(), c.mask(t))};
  };
}

Named inputs() {
  return {{"q", torch::randn({2, 3, kQueries, 8}).requires_grad_()},
          {"mask", at::ones({2, 1, 1, kQueries}, at::kBool)}};
}

TEST(AttentionMasks, AKnownMaskIsLeftOutOrNamedCausal) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Captured captured = capture_named(inputs(), attention(c));
    EXPECT_THAT(print(captured.joint.graph), HasSubstr(c.attention));
  }
}

TEST(AttentionMasks, AttentionAndItsGradientsAreAsWithTheMask) {
  for (const Case& c : kCases) {
    if (c.attention == kKept) continue;
    SCOPED_TRACE(c.name);
    const Named in = inputs();
    const Outcome want = run_eager(in, attention(c)),
                  got = run_graph(in, capture_named(in, attention(c)));
    EXPECT_TRUE(got.results[0].allclose(want.results[0], 1e-5, 1e-5));
    EXPECT_TRUE(got.grads[0].allclose(want.grads[0], 1e-4, 1e-5));
  }
}

TEST(AttentionMasks, AMaskIsKeptWhereSizesAreOpenOrOperatorsRoundAsEager) {
  const Named in = inputs();
  const Tensors tensors{in[0].second, in[1].second};
  const std::vector<std::string> names{"q", "mask"};
  const Case& causal = kCases[3];
  const auto text = [&](bool sizes_are_open, Numerics numerics) {
    const Captured captured =
        capture({tensors, names, {}, sizes_are_open}, attention(causal), numerics);
    return print(captured.joint.graph);
  };
  EXPECT_THAT(text(false, Numerics::kDefault), HasSubstr(kCausal));
  EXPECT_THAT(text(true, Numerics::kDefault), HasSubstr(kKept));
  EXPECT_THAT(text(false, Numerics::kEager), HasSubstr(kKept));
}

}  // namespace
}  // namespace aten_bridge
