#include "aten_bridge/graph/partition.h"

#include <cmath>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Recompute recompute(const Node& node) {
  static const std::map<std::string, Recompute> rows = {
      {"aten::view", Recompute::kFree},           {"aten::t", Recompute::kFree},
      {"aten::expand", Recompute::kFree},         {"aten::mm", Recompute::kExpensive},
      {"aten::sum", Recompute::kReduction},       {"aten::sum.dim_IntList", Recompute::kReduction},
      {"aten::amax", Recompute::kReduction},      {"aten::native_dropout", Recompute::kForbidden},
      {"aten::bernoulli", Recompute::kForbidden}, {"torchdyn::philox_state", Recompute::kForbidden},
  };
  auto found = rows.find(node.op);
  return found == rows.end() ? Recompute::kFusible : found->second;
}

Joint joint(std::string_view text, int primals, int tangents, int results) {
  absl::StatusOr<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return {*std::move(graph), primals, tangents, results};
}

// The saved values by the operators that made them; primals by their names.
std::vector<std::string> saved_of(const Partition& p) {
  std::vector<std::string> all;
  for (const SavedValue& s : p.saved) {
    EXPECT_EQ((s.primal >= 0) + (s.result >= 0), 1);
    all.push_back(s.primal >= 0 ? p.forward.inputs()[s.primal].node->name
                                : p.forward.outputs()[s.result]->node->op);
  }
  return all;
}

using Names = std::vector<std::string>;

TEST(TangentsOfGradients, AreThoseThatItIsComputedFrom) {
  const Joint j =
      joint(R"(graph 1 joint(x: f32[4], y: f32[4], z: f32[4], w: f32[4], dx: f32[4], dy: f32[4]) {
  %0: f32[4] = aten::exp(x)
  %1: f32[4] = aten::mul.Tensor(x, other=y)
  %2: f32[4] = aten::mul.Tensor(dx, other=%0)
  %3: f32[4] = aten::mul.Tensor(dy, other=y)
  %4: f32[4] = aten::add.Tensor(%2, other=%3)
  %5: f32[4] = aten::mul.Tensor(dy, other=x)
  return %0, %1, %4, %5, none, %0
})",
            4, 2, 2);
  EXPECT_THAT(tangents_of_gradients(j),
              ::testing::ElementsAre(std::vector{0, 1}, std::vector{1}, std::vector<int>{},
                                     std::vector{0, 1}));
}

TEST(Partition, SavesTheMaskNotTheDropoutOutput) {
  const Joint j = joint(R"(graph 1 joint(x: f32[64, 64], dy: f32[64, 64]) {
  %0: f32[64, 64], %1: bool[64, 64] = aten::native_dropout(input=x, p=0.5, train=true)
  %2: f32[64, 64] = aten::mul.Tensor(%0, other=2.0)
  %3: f32[64, 64] = aten::mul.Tensor(dy, other=2.0)
  %4: f32[64, 64] = aten::mul.Tensor(%3, other=%1)
  return %2, %4
})",
                        1, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(print(p.forward), R"(graph 1 forward(x: f32[64, 64]) {
  %0: f32[64, 64], %1: bool[64, 64] = aten::native_dropout(input=x, p=0.5, train=true)
  %2: f32[64, 64] = aten::mul.Tensor(%0, other=2.0)
  return %2, %1
}
)");
  EXPECT_EQ(print(p.backward), R"(graph 1 backward(saved_0: bool[64, 64], dy: f32[64, 64]) {
  %0: f32[64, 64] = aten::mul.Tensor(dy, other=2.0)
  %1: f32[64, 64] = aten::mul.Tensor(%0, other=saved_0)
  return %1
}
)");
  EXPECT_EQ(p.saved.at(0).result, 1);
}

TEST(Partition, SavesTheStateThatAMaskIsMadeOfAgain) {
  const Joint j = joint(R"(graph 1 joint(x: f32[64, 64]@cuda:0, dy: f32[64, 64]@cuda:0) {
  %0: i64[2] = torchdyn::philox_state(increment=4, aligned=[x], device=@cuda:0)
  %1: bool[64, 64]@cuda:0 = torchdyn::philox_dropout(state=%0, size=[64, 64])
  %2: f32[64, 64]@cuda:0 = aten::native_dropout_backward(grad_output=x, mask=%1, scale=2.0)
  %3: f32[64, 64]@cuda:0 = aten::native_dropout_backward(grad_output=dy, mask=%1, scale=2.0)
  return %2, %3
})",
                        1, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(saved_of(p), (Names{"torchdyn::philox_state"}));
  EXPECT_EQ(print(p.backward), R"(graph 1 backward(saved_0: i64[2], dy: f32[64, 64]@cuda:0) {
  %0: bool[64, 64]@cuda:0 = torchdyn::philox_dropout(state=saved_0, size=[64, 64])
  %1: f32[64, 64]@cuda:0 = aten::native_dropout_backward(grad_output=dy, mask=%0, scale=2.0)
  return %1
}
)");
}

TEST(Partition, SavesAResidualStreamWhichBackwardReadsOnBothSidesOfAProduct) {
  const Joint j =
      joint(R"(graph 1 joint(x: f32[64, 64], v: f32[64, 64], w: f32[64, 64], dy: f32[64, 64]) {
  %0: f32[64, 64] = aten::mm(x, mat2=v)
  %1: f32[64, 64] = aten::add.Tensor(x, other=%0, alpha=1)
  %2: f32[64, 64] = aten::gelu(%1, approximate="none")
  %3: f32[64, 64] = aten::mm(%2, mat2=w)
  %4: f32[64, 64] = aten::add.Tensor(%1, other=%3, alpha=1)
  %5: f32[64, 64] = aten::sin(%4)
  %6: f32[64, 64] = aten::cos(%4)
  %7: f32[64, 64] = aten::mul.Tensor(dy, other=%6)
  %8: f32[64, 64]{1, 64} = aten::t(w)
  %9: f32[64, 64] = aten::mm(%7, mat2=%8)
  %10: f32[64, 64] = aten::gelu_backward(%1, grad_output=%9, approximate="none")
  %11: f32[64, 64] = aten::add.Tensor(%7, other=%10, alpha=1)
  return %5, %11, none, none
})",
            3, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(saved_of(p), (Names{"w", "aten::add.Tensor", "aten::mm"})) << print(p.backward);
}

TEST(Partition, AViewIsNeverSaved) {
  const Joint j = joint(R"(graph 1 joint(x: f32[8, 8], w: f32[8, 8], dy: f32[64]) {
  %0: f32[8, 8] = aten::mm(x, mat2=w)
  %1: f32[64] = aten::view(%0, size=[64])
  %2: f32[64] = aten::sin(%1)
  %3: f32[8, 8]{1, 8} = aten::t(w)
  %4: f32[64] = aten::cos(%1)
  %5: f32[64] = aten::mul.Tensor(dy, other=%4)
  %6: f32[8, 8] = aten::view(%5, size=[8, 8])
  %7: f32[8, 8] = aten::mm(%6, mat2=%3)
  return %2, %7, none
})",
                        2, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(saved_of(p), (Names{"w", "aten::mm"}));
  EXPECT_THAT(print(p.forward), Not(HasSubstr("aten::t")));
  EXPECT_THAT(print(p.backward), HasSubstr("aten::view(saved_1, size=[64])"));
}

// y = g(x @ v), z = y @ w, as a GELU between two linear layers.
TEST(Partition, SavesWhatAMatrixProductWouldReadFromMemoryAgain) {
  const Joint j = joint(R"(graph 1 joint(x: f32[8, 8], v: f32[8, 8], w: f32[8, 8], dz: f32[8, 8]) {
  %0: f32[8, 8] = aten::mm(x, mat2=v)
  %1: f32[8, 8] = aten::gelu(%0, approximate="none")
  %2: f32[8, 8] = aten::mm(%1, mat2=w)
  %3: f32[8, 8]{1, 8} = aten::t(%1)
  %4: f32[8, 8] = aten::mm(%3, mat2=dz)
  %5: f32[8, 8]{1, 8} = aten::t(w)
  %6: f32[8, 8] = aten::mm(dz, mat2=%5)
  %7: f32[8, 8] = aten::gelu_backward(grad_output=%6, self=%0, approximate="none")
  %8: f32[8, 8]{1, 8} = aten::t(x)
  %9: f32[8, 8] = aten::mm(%8, mat2=%7)
  return %2, none, %9, %4
})",
                        3, 1, 1);
  EXPECT_EQ(saved_of(partition(j, recompute)), (Names{"x", "w", "aten::mm", "aten::gelu"}));
}

TEST(Partition, RecomputesAPointwiseChainFromItsInput) {
  const Joint j = joint(R"(graph 1 joint(x: f32[8, 8], w: f32[8, 8], dy: f32[8, 8]) {
  %0: f32[8, 8] = aten::mm(x, mat2=w)
  %1: f32[8, 8] = aten::sin(%0)
  %2: f32[8, 8] = aten::exp(%1)
  %3: f32[8, 8] = aten::sin(%2)
  %4: f32[8, 8] = aten::cos(%2)
  %5: f32[8, 8] = aten::mul.Tensor(dy, other=%4)
  %6: f32[8, 8] = aten::mul.Tensor(%5, other=%2)
  %7: f32[8, 8] = aten::cos(%0)
  %8: f32[8, 8] = aten::mul.Tensor(%6, other=%7)
  return %3, %8, none
})",
                        2, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(saved_of(p), Names{"aten::mm"});
  // Computed again just before its first use, and once.
  EXPECT_EQ(print(p.backward), R"(graph 1 backward(saved_0: f32[8, 8], dy: f32[8, 8]) {
  %0: f32[8, 8] = aten::sin(saved_0)
  %1: f32[8, 8] = aten::exp(%0)
  %2: f32[8, 8] = aten::cos(%1)
  %3: f32[8, 8] = aten::mul.Tensor(dy, other=%2)
  %4: f32[8, 8] = aten::mul.Tensor(%3, other=%1)
  %5: f32[8, 8] = aten::cos(saved_0)
  %6: f32[8, 8] = aten::mul.Tensor(%4, other=%5)
  return %6, none
}
)");
}

constexpr std::string_view kSoftmax =
    R"(graph 1 joint(x: f32[64, 64], w: f32[64, 64], dy: f32[64, 64]) {
  %0: f32[64, 64] = aten::mm(x, mat2=w)
  %1: f32[64, 1] = aten::amax(%0, dim=[1], keepdim=true)
  %2: f32[64, 64] = aten::sub.Tensor(%0, other=%1)
  %3: f32[64, 64] = aten::exp(%2)
  %4: f32[64, 1] = aten::sum.dim_IntList(%3, dim=[1], keepdim=true)
  %5: f32[64, 64] = aten::div.Tensor(%3, other=%4)
  %6: f32[64, 64] = aten::RESULT(%5)
  %7: f32[64, 64] = aten::mul.Tensor(dy, other=%5)
  %8: f32[64, 1] = aten::sum.dim_IntList(%7, dim=[1], keepdim=true)
  %9: f32[64, 64] = aten::mul.Tensor(%5, other=%8)
  %10: f32[64, 64] = aten::sub.Tensor(%7, other=%9)
  return RETURNED, %10, none
})";

std::string softmax(std::string_view result, std::string_view returned) {
  std::string text(kSoftmax);
  text.replace(text.find("RESULT"), 6, result);
  text.replace(text.find("RETURNED"), 8, returned);
  return text;
}

TEST(Partition, SavesTheSoftmaxThatIsAResult) {
  const Partition p = partition(joint(softmax("neg", "%5"), 2, 1, 1), recompute);
  EXPECT_EQ(saved_of(p), Names{"aten::div.Tensor"});
  EXPECT_EQ(p.saved[0].result, 0);
  EXPECT_EQ(p.forward.outputs().size(), 1u);  // the result itself, not once more
}

TEST(Partition, SavesTheStatisticsOfASoftmaxThatWasFusedAway) {
  const Partition p = partition(joint(softmax("neg", "%6"), 2, 1, 1), recompute);
  EXPECT_EQ(saved_of(p), (Names{"aten::mm", "aten::amax", "aten::sum.dim_IntList"}));
}

TEST(Partition, SavesAResultBeforeAnEqualIntermediate) {
  const Joint j = joint(R"(graph 1 joint(x: f32[64], dy: f32[64]) {
  %0: f32[64] = aten::bernoulli(x)
  %1: f32[64] = aten::neg(%0)
  %2: f32[64] = aten::sin(%1)
  %3: f32[64] = aten::mul.Tensor(dy, other=%2)
  return %2, %3
})",
                        1, 1, 1);
  EXPECT_EQ(saved_of(partition(j, recompute)), Names{"aten::sin"});
}

TEST(Partition, ARandomOperatorRunsOnceEvenWhenNothingNeedsIt) {
  const Joint j = joint(R"(graph 1 joint(x: f32[64], dy: f32[64]) {
  %0: f32[64] = aten::bernoulli(x)
  %1: f32[64] = aten::sin(x)
  %2: f32[64] = aten::bernoulli(dy)
  %3: f32[64] = aten::bernoulli(x)
  %4: f32[64] = aten::mul.Tensor(dy, other=%3)
  return %1, %4
})",
                        1, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(print(p.forward), R"(graph 1 forward(x: f32[64]) {
  %0: f32[64] = aten::bernoulli(x)
  %1: f32[64] = aten::sin(x)
  return %1
}
)");
  EXPECT_EQ(print(p.backward), R"(graph 1 backward(x: f32[64], dy: f32[64]) {
  %0: f32[64] = aten::bernoulli(dy)
  %1: f32[64] = aten::bernoulli(x)
  %2: f32[64] = aten::mul.Tensor(dy, other=%1)
  return %2
}
)");
}

TEST(Partition, AGradientMayBeAForwardValue) {
  const Joint j = joint(R"(graph 1 joint(x: f32[64], y: f32[64], dy: f32[64]) {
  %0: f32[64] = aten::sin(x)
  %1: f32[64] = aten::cos(x)
  return %0, x, %1
})",
                        2, 1, 1);
  const Partition p = partition(j, recompute);
  EXPECT_EQ(saved_of(p), Names{"x"});
  EXPECT_EQ(print(p.backward), R"(graph 1 backward(x: f32[64], dy: f32[64]) {
  %0: f32[64] = aten::cos(x)
  return x, %0
}
)");
}

TEST(Partition, AResultThatUsesATangentIsAnInternalError) {
  const Joint j = joint(R"(graph 1 joint(x: f32[64], dy: f32[64]) {
  %0: f32[64] = aten::sin(dy)
  return %0, none
})",
                        1, 1, 1);
  EXPECT_THROW(partition(j, recompute), InternalError);
}

// ---- Running the pair equals running the joint
// ----------------------------------------------------

using Numbers = std::vector<double>;  // 1-D, of kLength elements or of one

constexpr int kLength = 4;

class Machine {
 public:
  // Random operators draw from here, and what they drew is written down.
  std::vector<double> drawn;

  std::vector<std::optional<Numbers>> run(const Graph& g, const std::vector<Numbers>& inputs) {
    aten_bridge::HashMap<Value, Numbers> values;
    for (size_t i = 0; i < inputs.size(); ++i) values[g.inputs().at(i)] = inputs[i];
    for (const auto& node : g.nodes()) {
      std::vector<Numbers> args;
      for (Value v : node->inputs()) args.push_back(values.at(v));
      values[node->output(0)] = apply(node->op, args);
    }
    std::vector<std::optional<Numbers>> outputs;
    for (const auto& v : g.outputs())
      outputs.push_back(v ? std::optional(values.at(*v)) : std::nullopt);
    return outputs;
  }

 private:
  Numbers apply(const std::string& op, const std::vector<Numbers>& args) {
    const auto pointwise = [&](auto f) {
      Numbers result(std::max(args[0].size(), args.back().size()));
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = f(args[0][i % args[0].size()], args.back()[i % args.back().size()]);
      return result;
    };
    if (op == "aten::add.Tensor") return pointwise([](double a, double b) { return a + b; });
    if (op == "aten::mul.Tensor") return pointwise([](double a, double b) { return a * b; });
    if (op == "aten::exp") return pointwise([](double a, double) { return std::exp(-a * a); });
    if (op == "aten::view") return args[0];
    if (op == "aten::bernoulli") {
      return pointwise([&](double a, double) {
        drawn.push_back(a);
        return static_cast<double>(drawn.size() * 7 % 3);
      });
    }
    EXPECT_EQ(op, "aten::sum");
    double sum = 0;
    for (double x : args[0]) sum += x;
    return {sum};
  }
};

Joint random_joint(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](size_t n) { return random() % n; };
  const auto type = [](int64_t n) { return TensorType{DType::kFloat64, {}, {n}, {1}}; };
  Joint j;
  j.primals = 1 + static_cast<int>(pick(3));
  j.tangents = 1 + static_cast<int>(pick(2));
  std::vector<Value> pool;
  for (int i = 0; i < j.primals; ++i)
    pool.push_back(j.graph.add_input("p" + std::to_string(i), type(pick(4) ? kLength : 1)));
  const auto grow = [&](size_t nodes) {
    for (size_t i = 0; i < nodes; ++i) {
      const Value a = pool[pick(pool.size())], b = pool[pick(pool.size())];
      const bool wide = a.type().sizes[0] == kLength || b.type().sizes[0] == kLength;
      Node* node = nullptr;
      switch (pick(8)) {
        case 0:
          node = j.graph.add("aten::sum", {{"self", a}}, {type(1)});
          break;
        case 1:
          node = j.graph.add("aten::bernoulli", {{"self", a}}, {a.type()});
          break;
        case 2:
          node = j.graph.add("aten::view", {{"self", a}}, {a.type()});
          break;
        case 3:
          node = j.graph.add("aten::exp", {{"self", a}}, {a.type()});
          break;
        default:
          node = j.graph.add(pick(2) ? "aten::add.Tensor" : "aten::mul.Tensor",
                             {{"self", a}, {"other", b}}, {type(wide ? kLength : 1)});
      }
      pool.push_back(node->output(0));
    }
  };
  std::vector<std::optional<Value>> outputs;
  grow(1 + pick(12));
  j.results = 1 + static_cast<int>(pick(3));
  for (int i = 0; i < j.results; ++i) outputs.push_back(pool[pick(pool.size())]);
  for (int i = 0; i < j.tangents; ++i)
    pool.push_back(j.graph.add_input("dy" + std::to_string(i), type(kLength)));
  grow(1 + pick(16));
  for (int i = 0; i < j.primals; ++i)
    outputs.push_back(pick(5) ? std::optional(pool[pool.size() - 1 - pick(pool.size())])
                              : std::nullopt);
  j.graph.set_outputs(std::move(outputs));
  return j;
}

TEST(PartitionProperty, RunningThePairEqualsRunningTheJoint) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Joint j = random_joint(seed);
    const Partition p = partition(j, recompute);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(j.graph) + print(p.forward) +
                 print(p.backward));

    std::vector<Numbers> inputs;
    for (Value v : j.graph.inputs()) {
      inputs.emplace_back(v.type().sizes[0].as_constant());
      for (double& x : inputs.back())
        x = 0.1 * (1 + inputs.size()) + 0.01 * (&x - inputs.back().data());
    }
    const std::vector<Numbers> primals(inputs.begin(), inputs.begin() + j.primals);
    const std::vector<Numbers> tangents(inputs.begin() + j.primals, inputs.end());
    Machine whole, pair;
    const auto expected = whole.run(j.graph, inputs);
    const auto forward = pair.run(p.forward, primals);
    std::vector<Numbers> of_backward;
    for (const SavedValue& s : p.saved)
      of_backward.push_back(s.primal >= 0 ? primals.at(s.primal) : *forward.at(s.result));
    of_backward.insert(of_backward.end(), tangents.begin(), tangents.end());
    auto actual = pair.run(p.backward, of_backward);
    actual.insert(actual.begin(), forward.begin(), forward.begin() + j.results);

    ASSERT_EQ(actual, expected);
    ASSERT_EQ(pair.drawn, whole.drawn);  // each random operator once, in order
    for (size_t i = j.results; i < p.forward.outputs().size(); ++i)
      ASSERT_NE(p.forward.outputs()[i]->node->op, "aten::view");
    ASSERT_EQ(print(partition(j, recompute).backward), print(p.backward));
  }
}

}  // namespace
}  // namespace aten_bridge
