#include "inductor/compile.h"

#include <filesystem>
#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

#include "aten_bridge/base/broken.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/once.h"
#include "aten_bridge/graph/pad_products.h"
#include "aten_bridge/graph/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/runtime/aten/run.h"
#include "tests/inductor/support/picky_compiler.h"
#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"
#include "tests/support/golden.h"

namespace inductor {
namespace {

using aten_bridge::Graph;
using aten_bridge::parse_graph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  TD_CHECK(graph.ok(), std::string(graph.status().message()));
  return *std::move(graph);
}

std::shared_ptr<const CompiledGraph> compiled(const Graph& graph) {
  const Graph* graphs[] = {&graph};
  auto result = compile(graphs);
  TD_CHECK(result.ok(), std::string(result.status().message()));
  return result->at(0);
}

// Floats around 0; integers 1 and 2, which are good as indices and divisors; booleans of both
// kinds. In the layout of the type.
at::Tensor tensor_for(const TensorType& type) {
  std::vector<int64_t> sizes, strides;
  for (const SymExpr& size : type.sizes) sizes.push_back(size.as_constant());
  for (const SymExpr& stride : type.strides) strides.push_back(stride.as_constant());
  const auto scalar_type = static_cast<at::ScalarType>(scalar_type_number(type.dtype));
  at::Tensor tensor = at::empty_strided(sizes, strides, scalar_type);
  if (is_floating(type.dtype)) return tensor.normal_();
  const int64_t low = type.dtype == DType::kBool ? 0 : 1;
  return tensor.copy_(at::randint(low, low + 2, sizes));
}

std::vector<at::Tensor> inputs_for(const Graph& graph) {
  std::vector<at::Tensor> inputs;
  for (const auto& input : graph.inputs()) inputs.push_back(tensor_for(input.type()));
  return inputs;
}

// The same graph with every node an extern call: ATen's operators, one after the other.
CompiledGraph in_aten(const Graph& graph) {
  CompiledGraph result;
  KernelPlan& plan = result.plan;
  aten_bridge::HashMap<aten_bridge::Value, int> buffers;
  const auto add = [&](aten_bridge::Value value, Storage storage) {
    const int index = static_cast<int>(plan.buffers.size());
    plan.buffers.push_back({absl::StrCat("buf", index), value.type(), storage, 0});
    return buffers[value] = index;
  };
  const auto ref = [&](aten_bridge::Value value) {
    return TensorRef{buffers.at(value), value.type().sizes, value.type().strides, 0};
  };
  const auto optional_ref = [&](const std::optional<aten_bridge::Value>& value) {
    return value ? std::optional(ref(*value)) : std::nullopt;
  };
  for (const auto& input : graph.inputs()) plan.inputs.push_back(add(input, Storage::kInput));
  for (const auto& node : graph.nodes()) {
    ExternCall call{node->op, {}, {}};
    for (const auto& [name, value] : node->args) {
      auto argument = std::visit(
          [&]<class T>(const T& v) -> aten_bridge::ArgumentOf<TensorRef> {
            if constexpr (std::is_same_v<T, aten_bridge::Value>) {
              return ref(v);
            } else if constexpr (std::is_same_v<T,
                                                std::vector<std::optional<aten_bridge::Value>>>) {
              std::vector<std::optional<TensorRef>> list;
              for (const auto& item : v) list.push_back(optional_ref(item));
              return list;
            } else {
              return v;
            }
          },
          value);
      call.args.emplace_back(name, std::move(argument));
    }
    for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i)
      call.outputs.push_back(
          node->outputs[i] ? std::optional(add(node->output(i), Storage::kExtern)) : std::nullopt);
    plan.steps.emplace_back(std::move(call));
  }
  for (const auto& output : graph.outputs()) plan.outputs.push_back(optional_ref(output));
  auto linked = link(plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  result.linked = *std::move(linked);
  return result;
}

// Values, dtype and strides as ATen's operators give them, one after the other, from the same seed.
void expect_as_aten(const Graph& graph) {
  at::manual_seed(1);
  const auto inputs = inputs_for(graph);
  at::manual_seed(2);
  const auto expected = run(in_aten(graph), inputs);
  const auto compiled_graph = compiled(graph);
  at::manual_seed(2);
  const auto outputs = run(*compiled_graph, inputs);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(outputs[i].defined(), expected[i].defined()) << "output " << i;
    if (!outputs[i].defined()) continue;
    EXPECT_EQ(outputs[i].scalar_type(), expected[i].scalar_type()) << "output " << i;
    ASSERT_EQ(outputs[i].sizes(), expected[i].sizes()) << "output " << i;
    EXPECT_EQ(outputs[i].strides(), expected[i].strides()) << "output " << i;
    EXPECT_TRUE(at::allclose(outputs[i].to(at::kDouble), expected[i].to(at::kDouble), 1e-5, 1e-6,
                             /*equal_nan=*/true))
        << "output " << i << "\n"
        << print(graph) << print(compiled_graph->plan);
  }
}

TEST(Compile, PointwiseWithBroadcasting) {
  expect_as_aten(parsed(R"(graph 1 g(x: f32[37, 19], y: f32[19], z: f32[]) {
    %0: f32[37, 19] = aten::add.Tensor(x, other=y, alpha=2)
    %1: f32[37, 19] = aten::mul.Tensor(%0, other=z)
    %2: f32[37, 19] = aten::tanh(%1)
    return %2, %0
  })"));
}

constexpr char kSoftmax[] = R"(graph 1 softmax(x: f32[64, 100]) {
    %0: f32[64, 1] = aten::amax(x, dim=[1], keepdim=true)
    %1: f32[64, 100] = aten::sub.Tensor(x, other=%0, alpha=1)
    %2: f32[64, 100] = aten::exp(%1)
    %3: f32[64, 1] = aten::sum.dim_IntList(%2, dim=[1], keepdim=true, dtype=none)
    %4: f32[64, 100] = aten::div.Tensor(%2, other=%3)
    return %4
  })";

TEST(Compile, SoftmaxIsOneKernel) {
  const Graph graph = parsed(kSoftmax);
  expect_as_aten(graph);
  EXPECT_THAT(compiled(graph)->report.kernels, SizeIs(1));
  EXPECT_THAT(compiled(graph)->report.extern_calls, IsEmpty());
}

TEST(Compile, MatrixProductsBetweenKernels) {
  const Graph graph = parsed(R"(graph 1 g(x: f32[8, 16], w: f32[32, 16], b: f32[32]) {
    %0: f32[8, 16] = aten::relu(x)
    %1: f32[16, 32]{1, 16} = aten::permute(w, dims=[1, 0])
    %2: f32[8, 32] = aten::mm(%0, mat2=%1)
    %3: f32[8, 32] = aten::add.Tensor(%2, other=b, alpha=1)
    %4: f32[8, 32] = aten::relu(%3)
    return %4
  })");
  expect_as_aten(graph);
  EXPECT_THAT(compiled(graph)->report.extern_calls, ElementsAre("aten::mm"));
}

TEST(Compile, WhatHasNoLoweringRunsInAten) {
  expect_as_aten(parsed(R"(graph 1 g(x: f32[8, 16]) {
    %0: f32[8, 16] = aten::mul.Tensor(x, other=x)
    %1: f32[8, 16] = aten::cumsum(%0, dim=1, dtype=none)
    %2: f32[8, 16] = aten::neg(%1)
    return %2
  })"));
}

TEST(Compile, RandomOperatorsDrawInOrder) {
  expect_as_aten(parsed(R"(graph 1 g(x: f32[8, 16]) {
    %0: f32[8, 16], %1: bool[8, 16] = aten::native_dropout(input=x, p=0.5, train=true)
    %2: f32[8, 16], %3: bool[8, 16] = aten::native_dropout(input=%0, p=0.25, train=true)
    return %2, %1, %3
  })"));
}

TEST(Compile, OutputsMayBeInputsViewsNoneAndTwice) {
  expect_as_aten(parsed(R"(graph 1 g(x: f32[4, 6]) {
    %0: f32[6, 4]{1, 6} = aten::permute(x, dims=[1, 0])
    %1: f32[4, 6] = aten::neg(x)
    %2: f32[6, 4]{1, 6} = aten::permute(%1, dims=[1, 0])
    return x, %0, none, %1, %1, %2
  })"));
}

TEST(Compile, TensorsWithoutElementsOrDimensions) {
  expect_as_aten(parsed(R"(graph 1 g(x: f32[0, 4], y: f32[]) {
    %0: f32[0, 4] = aten::mul.Tensor(x, other=y)
    %1: f32[4] = aten::sum.dim_IntList(%0, dim=[0], keepdim=false, dtype=none)
    %2: f32[] = aten::neg(y)
    return %0, %1, %2
  })"));
}

TEST(Compile, EqualKernelsOfTwoGraphsAreOne) {
  const Graph forward = parsed(kSoftmax), again = parsed(kSoftmax);
  const Graph* graphs[] = {&forward, &again};
  auto both = compile(graphs);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ((*both)[0]->launchers.at(0).self, (*both)[1]->launchers.at(0).self);
  EXPECT_EQ(compiled(again)->launchers.at(0).self, (*both)[0]->launchers.at(0).self);
}

TEST(Compile, AMissingCompilerIsAStatus) {
  // A kernel that no other test builds.
  const Graph graph = parsed(R"(graph 1 g(x: f32[3, 3]) {
    %0: f32[3, 3] = aten::mul.Tensor(x, other=3.25)
    return %0
  })");
  setenv("TORCHDYN_CXX", "no-such-compiler", 1);
  const Graph* graphs[] = {&graph};
  auto result = compile(graphs);
  unsetenv("TORCHDYN_CXX");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), ::testing::HasSubstr("no-such-compiler"));
}

// Two fusions with a matrix product between; kMark is in the text of the second.
constexpr char kTwoFusions[] = R"(graph 1 g(x: f32[8, 16], w: f32[16, 8]) {
    %0: f32[8, 16] = aten::relu(x)
    %1: f32[8, 8] = aten::mm(%0, mat2=w)
    %2: f32[8, 8] = aten::mul.Tensor(%1, other=3.25)
    %3: f32[8, 8]{1, 8} = aten::permute(%2, dims=[1, 0])
    %4: f32[8, 8] = aten::tanh(%3)
    return %4
  })";
constexpr char kMark[] = "void mul_tanh_";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Compile, ARejectedKernelIsLeftToAtenAlone) {
  const ScratchDirectory cache;
  const Variable cache_path("TORCHDYN_CACHE_DIR", cache.path());
  const PickyCompiler compiler(kMark);
  const Graph graph = parsed(kTwoFusions);
  expect_as_aten(graph);
  const auto result = compiled(graph);
  EXPECT_THAT(result->report.kernels, SizeIs(1));
  EXPECT_THAT(result->report.extern_calls,
              ElementsAre("aten::mm", "aten::mul.Tensor", "aten::tanh"));
  EXPECT_THAT(result->report.rejected,
              ElementsAre(::testing::HasSubstr("failed with exit code 1")));
}

TEST(Compile, AGraphOfRejectedKernelsRunsInAten) {
  const ScratchDirectory cache;
  const Variable cache_path("TORCHDYN_CACHE_DIR", cache.path());
  const PickyCompiler compiler("extern .C. void");
  expect_as_aten(parsed(kSoftmax));
  EXPECT_THAT(compiled(parsed(kSoftmax))->report.kernels, IsEmpty());
}

TEST(Compile, ARejectedKernelIsSaidOnceAndLeavesARepro) {
  const ScratchDirectory cache;
  const Variable cache_path("TORCHDYN_CACHE_DIR", cache.path());
  const aten_bridge::SaidCapture said;
  const Graph graph = parsed(kTwoFusions);
  {
    const PickyCompiler compiler(kMark);
    compiled(graph);
    compiled(graph);
  }
  ASSERT_THAT(said.messages(), SizeIs(1));
  const std::string message = said.messages()[0];
  EXPECT_THAT(message, ::testing::HasSubstr("aten::mul.Tensor, aten::tanh run in ATen"));
  const std::string folder = message.substr(message.find('/'));
  EXPECT_THAT(read_file(folder + "/kernel.cc"), ::testing::HasSubstr(kMark));
  EXPECT_THAT(read_file(folder + "/compiler.log"), ::testing::HasSubstr("it has"));
  EXPECT_THAT(read_file(folder + "/README.txt"), ::testing::HasSubstr("torchdyn_replay " + folder));
  EXPECT_THAT(read_file(folder + "/options.txt"), ::testing::HasSubstr("numerics=default"));
  const Graph again = parsed(read_file(folder + "/graph.txt"));
  EXPECT_EQ(print(again), print(graph));
  expect_as_aten(again);
}

// aten::exp has an argument.
TEST(Compile, AnInternalErrorNamesTheGraph) {
  Graph graph = parsed(kSoftmax);
  for (const auto& node : graph.nodes())
    if (node->op == "aten::exp") node->args.clear();
  try {
    compiled(graph);
    FAIL() << "nothing was thrown";
  } catch (const aten_bridge::Broken& error) {
    EXPECT_EQ(error.artefact, print(graph));
  }
}

// What a GPU runs in the place of a head's product and its gradients.
TEST(Compile, PaddedProductsAreTheProducts) {
  const Graph graph =
      parsed(R"(graph 1 g(d: bf16[40, 61], w: bf16[61, 32], x: bf16[40, 32], b: bf16[61]) {
    %0: bf16[32, 61]{1, 32} = aten::permute(w, dims=[1, 0])
    %1: bf16[40, 61] = aten::addmm(b, mat1=x, mat2=%0, beta=1, alpha=1)
    %2: bf16[40, 61] = aten::exp(%1)
    %3: bf16[40, 32] = aten::mm(d, mat2=w)
    %4: bf16[61, 40]{1, 61} = aten::permute(d, dims=[1, 0])
    %5: bf16[61, 32] = aten::mm(%4, mat2=x)
    %6: bf16[40, 61] = aten::neg(%2)
    %7: bf16[40, 32] = aten::mm(%6, mat2=w)
    %8: bf16[61, 40]{1, 61} = aten::t(%6)
    %9: bf16[61, 32] = aten::mm(%8, mat2=x)
    %10: bf16[61] = aten::sum.dim_IntList(%6, dim=[0], keepdim=false, dtype=none)
    %11: bf16[32, 61]{1, 32} = aten::t(w)
    %12: bf16[40, 61] = aten::mm(x, mat2=%11)
    %13: bf16[4, 10, 61] = aten::_unsafe_view(%12, size=[4, 10, 61])
    return %1, %2, %3, %5, %7, %9, %10, %13
  })");
  const Graph padded =
      pad_products(graph, writes_any_strides, {.least_operations = 0, .operations_per_byte = 0});
  EXPECT_NE(print(padded), print(graph));
  at::manual_seed(1);
  const auto inputs = inputs_for(graph);
  const auto expected = run(in_aten(graph), inputs), outputs = run(*compiled(padded), inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(outputs[i].strides(), expected[i].strides());
    EXPECT_TRUE(at::allclose(outputs[i], expected[i], /*rtol=*/0.02, /*atol=*/0.05)) << i;
  }
}

TEST(Compile, EveryGoldenOfTheLoweringComputesWhatAtenDoes) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/lowering")) {
    SCOPED_TRACE(golden.path);
    expect_as_aten(parsed(golden.section("graph")));
  }
}

}  // namespace
}  // namespace inductor
