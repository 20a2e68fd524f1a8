// Every lowering row against ATen: the loops of one operator, evaluated by the reference column of
// scalar_ops.def, compute what the dispatcher does.
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/ir/call_text.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/row.h"
#include "inductor/passes/passes.h"
#include "inductor/runtime/aten/run.h"
#include "tests/inductor/lowering/aten/cases.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor {
namespace {

using aten_bridge::Graph;
using testing::Array;

std::vector<int64_t> numbers(const std::vector<SymExpr>& exprs) {
  std::vector<int64_t> all;
  for (const SymExpr& e : exprs) all.push_back(e.as_constant());
  return all;
}

at::Tensor tensor_of(const Array& array) {
  const auto dtype = static_cast<at::ScalarType>(scalar_type_number(array.type.dtype));
  const bool floating = is_floating(array.type.dtype);
  const auto size = static_cast<int64_t>(array.data.size());
  at::Tensor storage = at::empty({size}, at::kDouble);
  for (int64_t i = 0; i < size; ++i)
    storage[i] = floating ? array.data[i].floating : static_cast<double>(array.data[i].integer);
  return storage.to(dtype).as_strided(numbers(array.type.sizes), numbers(array.type.strides));
}

std::vector<Array> inputs_of(const Graph& graph, bool specials) {
  std::vector<Array> inputs;
  for (Value input : graph.inputs()) {
    Array array =
        testing::random_array(input.type(), 3 + static_cast<int>(inputs.size()), specials);
    if (input.node->name.starts_with("ids"))
      for (ScalarValue& v : array.data) v.integer = ((v.integer % 3) + 3) % 3;
    inputs.push_back(std::move(array));
  }
  return inputs;
}

// A plan that calls the one operator of a graph.
CompiledGraph call_of(const Graph& graph) {
  Builder builder(graph);
  const Node& node = *graph.nodes()[0];
  builder.extern_call(node);
  builder.set_outputs(graph.outputs());
  const LoopProgram program = builder.take();
  CompiledGraph compiled;
  compiled.plan.name = program.name;
  for (const Buffer& b : program.buffers)
    compiled.plan.buffers.push_back(
        {b.name, b.type, b.role == BufferRole::kInput ? Storage::kInput : Storage::kExtern, 0});
  compiled.plan.inputs = program.inputs;
  compiled.plan.outputs = program.outputs;
  compiled.plan.steps.push_back(std::get<ExternCall>(program.body[0]));
  compiled.plan.arena_bytes = 0;
  auto linked = link(compiled.plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  compiled.linked = *std::move(linked);
  return compiled;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-12;
    case DType::kFloat32:
      return 3e-6;
    case DType::kBFloat16:
      return 1.0 / 128;
    default:
      return 0;
  }
}

void expect_close(const at::Tensor& expected, const Array& actual) {
  const at::Tensor flat = expected.to(at::kDouble).contiguous().view({-1});
  ASSERT_EQ(flat.numel(), static_cast<int64_t>(actual.data.size()));
  const bool floating = is_floating(actual.type.dtype);
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const double want = flat[i].item<double>();
    const ScalarValue& got = actual.data[i];
    const double value = floating ? got.floating : static_cast<double>(got.integer);
    if (std::isnan(want) && std::isnan(value)) continue;
    if (want == value) continue;
    EXPECT_NEAR(value, want, tolerance(actual.type.dtype) * std::max(1.0, std::fabs(want)))
        << "at " << i;
  }
}

// ATen's vectors may make NaN of what its scalars and its float64 do not: gelu(inf) with AVX-512.
void as_in_float64(const Graph& graph, std::vector<at::Tensor> inputs,
                   std::vector<at::Tensor>& expected) {
  const std::string& op = graph.nodes()[0]->op;
  if (op != "aten::gelu") return;
  for (at::Tensor& t : inputs) t = t.to(at::kDouble);
  const at::Tensor exact = at::gelu(inputs[0]).to(expected[0].scalar_type());
  expected[0] = at::where(expected[0].isnan() & inputs[0].isinf(), exact, expected[0]);
}

void compare(const std::string& text, bool specials) {
  SCOPED_TRACE(text + (specials ? " (NaN, infinities, -0)" : ""));
  const Graph graph = testing::graph_of(text);
  LoopProgram program = lower(graph);
  ASSERT_TRUE(verify(program).ok()) << verify(program) << print(program);
  for (const Stmt& stmt : program.body)
    ASSERT_FALSE(std::holds_alternative<ExternCall>(stmt)) << "refused: " << print(program);
  const std::vector<Array> inputs = inputs_of(graph, specials);
  std::vector<at::Tensor> tensors;
  for (const Array& input : inputs) tensors.push_back(tensor_of(input));
  std::vector<at::Tensor> expected = run(call_of(graph), tensors);
  if (specials) as_in_float64(graph, tensors, expected);
  run_passes(program);
  const std::vector<Array> actual = testing::evaluate(program, inputs);
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const TensorType& type = *graph.nodes()[0]->outputs[i];
    EXPECT_EQ(expected[i].sizes().vec(), numbers(type.sizes));
    EXPECT_EQ(expected[i].strides().vec(), numbers(type.strides));
    EXPECT_EQ(static_cast<int>(expected[i].scalar_type()), scalar_type_number(type.dtype));
    expect_close(expected[i], actual[i]);
  }
}

TEST(EveryLoweringRow, ComputesWhatAtenDoes) {
  for (const std::string& text : testing::lowering_cases()) compare(text, false);
}

// Conversions of NaN to integers are undefined; products of NaN keep no sign worth comparing.
// Places of NaN are compared.
TEST(EveryLoweringRow, ComputesWhatAtenDoesOnSpecialValues) {
  for (const std::string& text : testing::lowering_cases())
    if ((text.find("i64") == text.npos || text.find("::arg") != text.npos ||
         text.find("pool") != text.npos) &&
        text.find("_polynomial_") == text.npos)
      compare(text, true);
}

TEST(EveryLoweringRow, HasACase) {
  std::set<std::string> covered = {
      // What eager leaves uninitialised cannot be compared; an input's storage has no lowering.
      "aten::empty.memory_format", "aten::empty_like", "aten::empty_strided", "aten::new_empty",
      "aten::empty_permuted", "aten::new_empty_strided", "aten::as_strided",
      "aten::as_strided_copy",
      // Of GPUs alone: depthwise_test, philox_test.
      "aten::convolution", "aten::convolution_backward", "torchdyn::philox_dropout",
      "torchdyn::philox_bernoulli", "torchdyn::philox_uniform", "torchdyn::philox_normal"};
  for (const std::string& text : testing::lowering_cases())
    covered.insert(testing::graph_of(text).nodes()[0]->op);
  for (LoweringRows family : lowering_families())
    for (const LoweringRow& row : family)
      EXPECT_TRUE(!row.lower || covered.count(std::string(row.op))) << row.op;
}

}  // namespace
}  // namespace inductor
