// The table of operators says what really happens to them.
#include "torchdyn/operators.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/golden.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using at::Tensor;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Operators, TheTableIsAsWritten) {
  for (const auto& golden : testing::goldens("torchdyn"))
    testing::check(golden, print(operator_table()));
}

TEST(Operators, ThePatternIsARegularExpressionOfNames) {
  const auto rows = operator_table("^aten::add\\.(Tensor|Scalar)$");
  EXPECT_EQ(print(rows),
            "lowered aten::add.Scalar pointwise\nlowered aten::add.Tensor pointwise\n");
  EXPECT_EQ(summary(rows), "lowered: 2\n");
}

// One call of an operator: what the table says of it, and the graphs that were made.
struct Sample {
  OperatorRow row;
  Explanation::Variant variant;
  std::string text;  // of all graphs
  std::vector<std::string> calls, origins;
};

Sample sample(const std::string& op, Tensor (*call)(const Tensor&)) {
  Sample sample;
  for (const OperatorRow& row : operator_table())
    if (row.op == op) sample.row = row;
  EXPECT_EQ(sample.row.op, op) << "not in the table";
  const auto compiled = compile(call);
  compiled(torch::rand({4, 4}) + 0.5);
  sample.variant = explain(compiled).variants.at(0);
  for (const auto& graph : sample.variant.graphs) {
    sample.text += graph.text;
    sample.calls.insert(sample.calls.end(), graph.extern_calls.begin(), graph.extern_calls.end());
    for (const auto& kernel : graph.kernels)
      sample.origins.insert(sample.origins.end(), kernel.origins.begin(), kernel.origins.end());
  }
  return sample;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

void expect_compiled(const Sample& sample, std::string_view how) {
  EXPECT_EQ(sample.row.how, how) << sample.row.op;
  EXPECT_EQ(sample.variant.eager_reason, "") << sample.row.op;
}

TEST(Operators, ARefusedOneMakesTheCallRunInEagerForTheTablesReason) {
  const Sample s =
      sample("aten::_to_sparse", [](const Tensor& x) { return x.to_sparse().to_dense(); });
  EXPECT_EQ(s.row.how, "refused");
  EXPECT_THAT(s.variant.eager_reason, HasSubstr(s.row.detail));
}

TEST(Operators, ALoweredOneIsFusedIntoAKernel) {
  for (const Sample& s : {
           sample("aten::tanh", [](const Tensor& x) { return x.tanh(); }),
           sample("aten::sum.dim_IntList", [](const Tensor& x) { return x.sum({1}); }),
       }) {
    expect_compiled(s, "lowered");
    EXPECT_THAT(s.text, HasSubstr(" = " + s.row.op + "("));
    EXPECT_TRUE(contains(s.origins, s.row.op)) << s.row.op;
    EXPECT_FALSE(contains(s.calls, s.row.op)) << s.row.op;
  }
}

TEST(Operators, AnExternOneIsCalledAsAtenHasIt) {
  for (const Sample& s : {
           sample("aten::mm", [](const Tensor& x) { return x.mm(x); }),
           sample("aten::cholesky_inverse", [](const Tensor& x) { return x.cholesky_inverse(); }),
       }) {
    expect_compiled(s, "extern");
    EXPECT_TRUE(contains(s.calls, s.row.op)) << s.row.op;
  }
}

TEST(Operators, ADecomposedOneIsRecordedAsSimplerOnesThatRememberIt) {
  const Sample s = sample("aten::native_layer_norm", [](const Tensor& x) {
    return std::get<0>(at::native_layer_norm(x, {4}, {}, {}, 1e-5));
  });
  expect_compiled(s, "decomposed");
  EXPECT_THAT(s.text, Not(HasSubstr(" = " + s.row.op + "(")));
  EXPECT_TRUE(contains(s.origins, s.row.op));
}

TEST(Operators, ARewrittenOneIsReplacedByOneThatTellsWhatItChanges) {
  const Sample s = sample("aten::native_batch_norm", [](const Tensor& x) {
    const Tensor mean = x.new_zeros({4}), variance = x.new_ones({4});
    at::native_batch_norm(x, {}, {}, mean, variance, true, 0.5, 1e-5);
    return mean;
  });
  expect_compiled(s, "rewritten");
  EXPECT_THAT(s.text, Not(HasSubstr(s.row.op)));
}

TEST(Operators, AFunctionalOneIsReplacedByOneThatChangesNothing) {
  const Sample s = sample("aten::mul_.Tensor", [](const Tensor& x) { return x.clone().mul_(x); });
  expect_compiled(s, "functional");
  EXPECT_THAT(s.text, Not(HasSubstr(s.row.op)));
  EXPECT_THAT(s.text, HasSubstr(" = aten::mul.Tensor("));
}

TEST(Operators, ACompositeOneIsRecordedAsLibTorchExpressesIt) {
  const Sample s = sample("aten::square", [](const Tensor& x) { return x.square(); });
  expect_compiled(s, "composite");
  EXPECT_THAT(s.text, Not(HasSubstr(" = aten::square(")));
  EXPECT_THAT(s.text, HasSubstr(" = aten::pow.Tensor_Scalar("));
}

TEST(Operators, OneWithoutAShapeRuleRunsInEager) {
  const Sample s =
      sample("aten::_aminmax", [](const Tensor& x) { return std::get<0>(at::_aminmax(x)); });
  EXPECT_EQ(s.row.how, "eager");
  EXPECT_THAT(s.variant.eager_reason, HasSubstr(s.row.op));
}

}  // namespace
}  // namespace torchdyn
