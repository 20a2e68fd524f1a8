#include "inductor/runtime/aten/run.h"

#include <thread>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// out = 2 * in, over sizes[0] floats, in parallel pieces.
void twice(const void*, const LaunchArguments& arguments, const TdContext* context) {
  context->parallel_for(
      arguments.sizes[0], 2,
      [](void* argument, int64_t begin, int64_t end) {
        void* const* b = static_cast<void* const*>(argument);
        for (int64_t i = begin; i < end; ++i)
          static_cast<float*>(b[1])[i] = 2 * static_cast<const float*>(b[0])[i];
      },
      const_cast<void**>(arguments.buffers));
}

// A graph of that kernel and extern calls.
CompiledGraph compiled(const std::string& text) {
  auto plan = parse_plan(text);
  TD_CHECK(plan.ok(), std::string(plan.status().message()));
  TD_CHECK(verify(*plan).ok(), std::string(verify(*plan).message()));
  CompiledGraph graph;
  graph.plan = *std::move(plan);
  for (const Step& step : graph.plan.steps)
    if (std::holds_alternative<Launch>(step)) graph.launchers.push_back({twice, nullptr, nullptr});
  auto linked = link(graph.plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  graph.linked = *std::move(linked);
  return graph;
}

constexpr char kTwiceTwice[] =
    "plan 1 f(arg0) -> buf1 {\n"
    "  arg0: f32[4] input\n  buf0: f32[4] arena 0\n  buf1: f32[4] owned\n  arena 64\n"
    "  launch k(arg0, buf0; 4)\n  allocate buf1\n  launch k(buf0, buf1; 4)\n}\n";

TEST(Run, LaunchesKernelsOverTheArenaAndOwnedBuffers) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  const at::Tensor x = at::randn({4});
  const auto outputs = run(graph, {x});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_TRUE(outputs[0].equal(x * 4));
}

TEST(Run, HandsTensorsWithoutElementsFromKernelsToOperators) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf1 {\n"
      "  arg0: f32[0] input\n  buf0: f32[0] arena 0\n  buf1: f32[0] extern\n  arena 0\n"
      "  launch k(arg0, buf0; 0)\n  call buf1 = aten::neg(self=buf0)\n}\n");
  const auto outputs = run(graph, {at::ones({0})});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_EQ(outputs[0].sizes(), at::IntArrayRef{0});
}

TEST(Run, GivesOutputsOfTheirOwnOnEveryCall) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  const at::Tensor x = at::ones({4});
  const at::Tensor first = run(graph, {x})[0];
  run(graph, {x * 3});
  EXPECT_TRUE(first.equal(x * 4));
}

TEST(Run, ThreadsRunOneGraphAtTheSameTime) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        const at::Tensor x = at::full({4}, static_cast<float>(t));
        for (int i = 0; i < 500; ++i) right += run(graph, {x})[0].equal(x * 4) ? 1 : 0;
      });
  }
  EXPECT_EQ(right, 4 * 500);
}

TEST(Run, CallsOperatorsWithTensorsAndConstants) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0, arg1) -> buf1 {\n"
      "  arg0: f32[3, 4] input\n  arg1: f32[4, 5] input\n  buf0: f32[3, 5] extern\n"
      "  buf1: f32[3, 5] extern\n  arena 0\n"
      "  call buf0 = aten::mm(self=arg0, mat2=arg1)\n"
      "  call buf1 = aten::add.Tensor(self=buf0, other=buf0, alpha=0.5)\n  release buf0\n}\n");
  const at::Tensor a = at::randn({3, 4}), b = at::randn({4, 5});
  EXPECT_TRUE(run(graph, {a, b})[0].equal(at::add(a.mm(b), a.mm(b), 0.5)));
}

TEST(Run, ANumberInThePlaceOfATensorPromotesAsANumber) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4] input\n  buf0: f32[4] extern\n  arena 0\n"
      "  call buf0 = aten::mul.Tensor(self=arg0, other=0.1)\n}\n");
  const at::Tensor x = at::randn({4});
  EXPECT_TRUE(run(graph, {x})[0].equal(x * 0.1));
}

TEST(Run, PassesViewsOfBuffers) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf1 {\n"
      "  arg0: f32[16] input\n  buf0: f32[16] arena 64\n  buf1: f32[2, 2] extern\n  arena 128\n"
      "  launch k(arg0, buf0; 16)\n"
      "  call buf1 = aten::mm(self=buf0[2, 3]{1, 2} + 4, mat2=arg0[3, 2]{2, 1} + 1)\n}\n");
  const at::Tensor x = at::randn({16});
  const at::Tensor a = (2 * x).as_strided({2, 3}, {1, 2}, 4), b = x.as_strided({3, 2}, {2, 1}, 1);
  EXPECT_TRUE(at::allclose(run(graph, {x})[0], a.mm(b)));
}

TEST(Run, PassesListsOfTensors) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0, arg1) -> buf0, buf1 {\n"
      "  arg0: f32[2] input\n  arg1: i64[3] input\n  buf0: f32[4] extern\n  buf1: f32[3] extern\n"
      "  arena 0\n"
      "  call buf0 = aten::cat(tensors=[arg0, arg0], dim=0)\n"
      "  call buf1 = aten::index.Tensor(self=arg0, indices=[arg1])\n}\n");
  const at::Tensor x = at::randn({2}), i = at::tensor({1, 0, 1}, at::kLong);
  const auto outputs = run(graph, {x, i});
  EXPECT_TRUE(outputs[0].equal(at::cat({x, x})));
  EXPECT_TRUE(outputs[1].equal(x.index({i})));
}

TEST(Run, ReceivesListsAndLeavesOutWhatIsUndefined) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf1, none {\n"
      "  arg0: f32[4] input\n  buf0: f32[2] extern\n  buf1: f32[2] extern\n  arena 0\n"
      "  call buf0, buf1 = aten::split.Tensor(self=arg0, split_size=2, dim=0)\n  release "
      "buf0\n}\n");
  const at::Tensor x = at::randn({4});
  const auto outputs = run(graph, {x});
  EXPECT_TRUE(outputs[0].equal(x.slice(0, 2, 4)));
  EXPECT_FALSE(outputs[1].defined());
}

TEST(Run, CopiesAResultIntoThePlannedLayout) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[2, 3] input\n  buf0: f32[2, 3]{1, 2} extern\n  arena 0\n"
      "  call buf0 = aten::neg(self=arg0)\n}\n");
  const at::Tensor x = at::randn({2, 3});
  const at::Tensor out = run(graph, {x})[0];
  EXPECT_EQ(out.strides(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(out.equal(-x));
}

TEST(Run, AResultThatAliasesTheArenaIsCopiedOutOfIt) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf1 {\n"
      "  arg0: f32[4] input\n  buf0: f32[4] arena 0\n  buf1: f32[4] extern\n"
      "  buf2: f32[4] arena 0\n  arena 64\n"
      "  launch k(arg0, buf0; 4)\n  call buf1 = aten::alias(self=buf0)\n"
      "  launch k(buf1, buf2; 4)\n}\n");
  const at::Tensor x = at::randn({4});
  EXPECT_TRUE(run(graph, {x})[0].equal(2 * x));
}

TEST(Run, RefusesAResultOfAnotherTypeThanPlanned) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4] input\n  buf0: f64[4] extern\n  arena 0\n  call buf0 = "
      "aten::neg(self=arg0)\n}\n");
  EXPECT_THROW(run(graph, {at::randn({4})}), aten_bridge::InternalError);
}

TEST(Run, SaysThatASizeIsAnotherOneThisTime) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4] input\n  buf0: i64[3, 1] extern\n  arena 0\n  call buf0 = "
      "aten::nonzero(self=arg0)\n}\n");
  const at::Tensor x = at::ones({4});
  EXPECT_THROW(run(graph, {x}), aten_bridge::AssumptionFailed);
  x[0].zero_();
  EXPECT_TRUE(run(graph, {x})[0].equal(x.nonzero()));
}

TEST(Run, ReturnsAnInputAsATensorOfItsOwnOverTheSameStorage) {
  const CompiledGraph graph =
      compiled("plan 1 f(arg0) -> arg0, arg0[2]{1} + 2 {\n  arg0: f32[4] input\n  arena 0\n}\n");
  const at::Tensor x = at::randn({4}).requires_grad_();
  const auto outputs = run(graph, {x});
  EXPECT_FALSE(outputs[0].is_same(x));
  EXPECT_FALSE(outputs[0].requires_grad());
  EXPECT_EQ(outputs[0].data_ptr(), x.data_ptr());
  EXPECT_TRUE(outputs[1].equal(x.detach().slice(0, 2, 4)));
  const auto version = x._version();
  outputs[0].add_(1);
  EXPECT_EQ(x._version(), version + 1);
}

TEST(Run, LetsInputsGoAtTheirLastUse) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4] input\n  buf0: f32[4] owned\n  arena 0\n"
      "  allocate buf0\n  launch k(arg0, buf0; 4)\n  release arg0\n}\n");
  std::vector<at::Tensor> inputs = {at::randn({4})};
  const c10::weak_intrusive_ptr<c10::TensorImpl> watched(inputs[0].getIntrusivePtr());
  const auto outputs = run(graph, std::move(inputs));
  EXPECT_TRUE(watched.expired());
}

TEST(Run, IsNotTouchedByAutogradOrAutocast) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4, 4] input\n  buf0: f32[4, 4] extern\n  arena 0\n"
      "  call buf0 = aten::mm(self=arg0, mat2=arg0)\n}\n");
  const at::Tensor x = at::randn({4, 4}).requires_grad_();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor out = run(graph, {x})[0];
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(out.scalar_type(), at::kFloat);
  EXPECT_FALSE(out.requires_grad());
}

TEST(Run, DrawsRandomNumbersAsEagerDoes) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0) -> buf0, buf1 {\n"
      "  arg0: f32[64] input\n  buf0: f32[64] extern\n  buf1: bool[64] extern\n  arena 0\n"
      "  call buf0, buf1 = aten::native_dropout(input=arg0, p=0.5, train=true)\n}\n");
  const at::Tensor x = at::ones({64});
  at::manual_seed(7);
  const at::Tensor expected = std::get<0>(at::native_dropout(x, 0.5, true));
  at::manual_seed(7);
  EXPECT_TRUE(run(graph, {x})[0].equal(expected));
}

TEST(Link, SaysThatLibTorchsCudaLibraryIsNotLoaded) {
  auto plan = parse_plan(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 extern\n  arena 0\n"
      "  call buf0 = aten::neg(self=arg0)\n}\n");
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(std::string(link(*plan).status().message()), HasSubstr("CUDA library"));
}

TEST(Link, NamesAnOperatorThatLibTorchLacks) {
  auto plan = parse_plan(
      "plan 1 f(arg0) -> buf0 {\n"
      "  arg0: f32[4] input\n  buf0: f32[4] extern\n  arena 0\n  call buf0 = "
      "aten::no_such(self=arg0)\n}\n");
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(std::string(link(*plan).status().message()), HasSubstr("aten::no_such"));
}

}  // namespace
}  // namespace inductor
