// The run loop on a device that is not the CPU.
#include "inductor/runtime/aten/run.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

using inductor::CompiledGraph;
using inductor::LaunchArguments;
using inductor::TdContext;

// What the kernel saw when it ran last.
struct Seen {
  std::vector<void*> buffers;
  void* stream;
  c10::DeviceIndex device;
  int64_t blocks;
  int threads;
} seen;

// out = 2 * in, over four floats.
void twice(const void*, const LaunchArguments& arguments, const TdContext* context) {
  seen = {{arguments.buffers, arguments.buffers + arguments.buffer_count},
          context->stream,
          c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice().index(),
          arguments.blocks,
          arguments.threads};
  for (int i = 0; i < 4; ++i)
    static_cast<float*>(arguments.buffers[1])[i] =
        2 * static_cast<const float*>(arguments.buffers[0])[i];
}

CompiledGraph compiled(const std::string& text) {
  auto plan = inductor::parse_plan(text);
  TD_CHECK(plan.ok(), std::string(plan.status().message()));
  TD_CHECK(verify(*plan).ok(), std::string(verify(*plan).message()));
  CompiledGraph graph;
  graph.plan = *std::move(plan);
  for (const inductor::Step& step : graph.plan.steps)
    if (std::holds_alternative<inductor::Launch>(step))
      graph.launchers.push_back({twice, nullptr, nullptr});
  auto linked = link(graph.plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  graph.linked = *std::move(linked);
  return graph;
}

constexpr char kTwiceTwice[] =
    "plan 1 f(arg0) -> buf1, arg0 {\n"
    "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 arena 0\n  buf1: f32[4]@cuda:0 owned\n"
    "  arena 64\n  launch k(arg0, buf0) on 3 blocks of 128\n  allocate buf1\n"
    "  launch k(buf0, buf1) on 3 blocks of 128\n}\n";

TEST(RunOnCuda, MemoryComesFromTheDevicesAllocatorAndGoesBack) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  const Tensor x = at::rand({4});
  const int64_t before = bytes_in_use();
  {
    const Tensor y = run(graph, {in_host_memory(x)})[0];
    EXPECT_EQ(y.device(), kDevice);
    EXPECT_TRUE(y.key_set().has(c10::DispatchKey::CUDA));
    EXPECT_TRUE(to_cpu(y).equal(x * 4));
    EXPECT_EQ(bytes_in_use(), before + 16);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST(RunOnCuda, KernelsAreLaunchedOnTheCurrentStream) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  const Tensor x = in_host_memory(at::rand({4}));
  run(graph, {x});
  EXPECT_EQ(seen.stream, nullptr);
  EXPECT_EQ(seen.blocks, 3);
  EXPECT_EQ(seen.threads, 128);
  const c10::StreamGuard stream(c10::Stream(c10::Stream::UNSAFE, kDevice, 42));
  run(graph, {x});
  EXPECT_EQ(reinterpret_cast<intptr_t>(seen.stream), 42);
}

TEST(RunOnCuda, TheDeviceOfThePlanIsCurrentForTheCallAlone) {
  std::string text = kTwiceTwice;
  for (size_t at; (at = text.find("cuda:0")) != text.npos;) text.replace(at, 6, "cuda:1");
  const CompiledGraph graph = compiled(text);
  const Tensor y = run(graph, {in_host_memory(at::rand({4}), c10::Device(c10::kCUDA, 1))})[0];
  EXPECT_EQ(y.device().index(), 1);
  EXPECT_EQ(seen.device, 1);
  EXPECT_EQ(c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice().index(), 0);
}

TEST(RunOnCuda, AnInputThatIsNotAlignedIsCopiedForKernelsAndReturnedAsItIs) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  const Tensor all = at::rand({16});
  for (int64_t offset : {1, 2, 3, 4}) {
    const Tensor x = all.slice(0, offset, offset + 4);
    const auto outputs = run(graph, {in_host_memory(x)});
    EXPECT_TRUE(to_cpu(outputs[0]).equal(x * 4)) << offset;
    EXPECT_EQ(outputs[1].data_ptr(), x.data_ptr()) << offset;
    for (void* buffer : seen.buffers) EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 16, 0u);
  }
}

TEST(RunOnCuda, OutOfMemoryPassesThroughAndTheNextCallWorks) {
  const CompiledGraph graph = compiled(kTwiceTwice);
  const Tensor x = at::rand({4});
  const int64_t before = bytes_in_use();
  fail_next_allocation();
  EXPECT_THROW(run(graph, {in_host_memory(x)}), c10::OutOfMemoryError);
  EXPECT_EQ(bytes_in_use(), before);
  EXPECT_TRUE(to_cpu(run(graph, {in_host_memory(x)})[0]).equal(x * 4));
}

TEST(RunOnCuda, ExternCallsTakeTensorsOfTheirOwnDevices) {
  const CompiledGraph graph = compiled(
      "plan 1 f(arg0, arg1) -> buf0, buf1 {\n"
      "  arg0: f32[4, 4] input\n  arg1: f32[4, 4]@cuda:0 input\n  buf0: f32[4, 4] extern\n"
      "  buf1: f32[2, 2]@cuda:0 extern\n  arena 0\n"
      "  call buf0 = aten::neg(self=arg0)\n"
      "  call buf1 = aten::mm(self=arg1[2, 3]{4, 1}, mat2=arg1[3, 2]{4, 1} + 2)\n}\n");
  const Tensor x = at::rand({4, 4}), y = at::rand({4, 4});
  const auto outputs = run(graph, {x, in_host_memory(y)});
  EXPECT_TRUE(outputs[0].equal(-x));
  EXPECT_EQ(outputs[1].device(), kDevice);
  EXPECT_TRUE(
      to_cpu(outputs[1]).equal(y.as_strided({2, 3}, {4, 1}).mm(y.as_strided({3, 2}, {4, 1}, 2))));
}

// What a kernel was given by its contents when it ran last.
std::vector<int64_t> drawn;

void draw(const void*, const LaunchArguments& arguments, const TdContext*) {
  for (int v = 0; v < arguments.value_count; ++v) {
    const auto* words = static_cast<const int64_t*>(arguments.values[v]);
    drawn.insert(drawn.end(), {words[0], words[1]});
  }
}

class DrawOnCuda : public testing::Test {
 protected:
  DrawOnCuda() : graph_(compiled(kText)) {
    for (auto& launcher : graph_.launchers) launcher.function = draw;
    generator_.set_current_seed(17);
    generator_.set_offset(40);
    drawn.clear();
  }
  ~DrawOnCuda() override { record_a_graph(false); }

  static constexpr char kText[] =
      "plan 1 f(arg0, arg1) -> buf1, buf0 {\n"
      "  arg0: f32[4]@cuda:0 input\n  arg1: f32[4]@cuda:0 input\n  buf0: i64[2] extern\n"
      "  buf1: f32[4]@cuda:0 owned\n  buf2: i64[2] extern\n  arena 0\n"
      "  call buf0 = torchdyn::philox_state(increment=4, aligned=[arg0], device=@cuda:0)\n"
      "  call buf2 = torchdyn::philox_state(increment=12, aligned=tensor[], device=@cuda:0)\n"
      "  allocate buf1\n  launch k(arg0, buf1) with buf0, buf2 on 3 blocks of 128\n"
      "  release buf2\n}\n";
  CompiledGraph graph_;
  at::Generator generator_ = at::globalContext().defaultGenerator(kDevice);
};

// cuDNN's dropout would start anew if the generator itself were told an offset.
TEST_F(DrawOnCuda, StatesFollowEachOtherAndKernelsGetThemByTheirContents) {
  const Tensor x = in_host_memory(at::rand({4}));
  const int told = offsets_told();
  const auto outputs = run(graph_, {x, x});
  EXPECT_EQ(drawn, (std::vector<int64_t>{17, 10, 17, 11}));
  EXPECT_EQ(generator_.get_offset(), 56u);
  EXPECT_EQ(offsets_told(), told);
  EXPECT_TRUE(outputs[1].is_cpu());
  EXPECT_TRUE(outputs[1].equal(at::tensor({17, 10}, at::kLong)));
}

TEST_F(DrawOnCuda, OnlyWhatIsDroppedOutMustBeAligned) {
  const Tensor all = at::rand({8}), odd = in_host_memory(all.slice(0, 1, 5)),
               even = in_host_memory(all.slice(0, 4));
  EXPECT_NO_THROW(run(graph_, {even, odd}));
  const uint64_t offset = generator_.get_offset();
  EXPECT_THROW(run(graph_, {odd, even}), aten_bridge::LeftToEager);
  EXPECT_EQ(generator_.get_offset(), offset);
}

TEST_F(DrawOnCuda, WhatTheProgramRecordsIsLeftToEager) {
  const Tensor x = in_host_memory(at::rand({4}));
  record_a_graph(true);
  EXPECT_THROW(run(graph_, {x, x}), aten_bridge::LeftToEager);
  record_a_graph(false);
  EXPECT_EQ(generator_.get_offset(), 40u);
  EXPECT_NO_THROW(run(graph_, {x, x}));
}

// Hooks of saved tensors may put them anywhere.
TEST(RunOnCuda, WhatALaunchReadsOnTheHostIsBroughtBackThere) {
  CompiledGraph graph = compiled(
      "plan 1 f(arg0) ->  {\n  arg0: i64[2] input\n  arg1: f32[4]@cuda:0 owned\n  arena 0\n"
      "  allocate arg1\n  launch k(arg1) with arg0 on 3 blocks of 128\n  release arg0\n"
      "  release arg1\n}\n");
  graph.launchers[0].function = draw;
  drawn.clear();
  run(graph, {in_host_memory(at::tensor({5, 6}, at::kLong))});
  EXPECT_EQ(drawn, (std::vector<int64_t>{5, 6}));
}

}  // namespace
}  // namespace fake_cuda
