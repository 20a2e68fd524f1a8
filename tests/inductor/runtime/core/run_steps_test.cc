#include "inductor/runtime/core/run_steps.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace inductor {
namespace {

// Writes down what it is asked for; buffer b lives at `memory[b]`.
class RecordingMemory final : public TensorMemory {
 public:
  void* allocate(int buffer) override {
    log += "allocate " + std::to_string(buffer) + ";";
    return &memory[buffer];
  }
  void release(int buffer) override { log += "release " + std::to_string(buffer) + ";"; }
  void run_extern(int call, const ExternCall& step, void** addresses) override {
    log += step.op + " " + std::to_string(call) + ";";
    addresses[*step.outputs[0]] = &memory[*step.outputs[0]];
  }
  int memory[4] = {};
  std::string log;
};

void add_size(const void* self, const LaunchArguments& a, const TdContext*) {
  *static_cast<int*>(a.buffers[1]) =
      *static_cast<int*>(a.buffers[0]) + static_cast<int>(a.sizes[0]);
  ++*static_cast<int*>(const_cast<void*>(self));
}

TEST(RunSteps, GivesEachKernelItsBuffersAndSizesInOrder) {
  auto plan = parse_plan(
      "plan 1 f(arg0) -> buf1 {\n"
      "  arg0: i32[] input\n  buf1: i32[] owned\n  buf2: i32[] owned\n  arena 0\n"
      "  allocate buf2\n  launch k(arg0, buf2; 5)\n  allocate buf1\n  launch k(buf2, buf1; 7)\n"
      "  release buf2\n}\n");
  ASSERT_TRUE(plan.ok()) << plan.status();
  int launches = 0, input = 1;
  const Launcher launcher{add_size, &launches, nullptr};
  const Launcher launchers[] = {launcher, launcher};
  RecordingMemory memory;
  void* addresses[] = {&input, nullptr, nullptr};
  run_steps(*plan, launchers, addresses, memory, TdContext{});
  EXPECT_EQ(memory.memory[1], 13);
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(memory.log, "allocate 2;allocate 1;release 2;");
}

void record_arguments(const void* self, const LaunchArguments& arguments, const TdContext*) {
  *static_cast<LaunchArguments*>(const_cast<void*>(self)) = arguments;
}

TEST(RunSteps, TellsAKernelItsShape) {
  auto plan = parse_plan(
      "plan 1 f(arg0) ->  {\n  arg0: i32[] input\n  arena 0\n"
      "  launch k(arg0; 5, 6) on 4096 blocks of 256\n}\n");
  ASSERT_TRUE(plan.ok()) << plan.status();
  LaunchArguments seen{};
  const Launcher launchers[] = {{record_arguments, &seen, nullptr}};
  RecordingMemory memory;
  void* addresses[1] = {};
  run_steps(*plan, launchers, addresses, memory, TdContext{});
  EXPECT_EQ(seen.buffer_count, 1);
  EXPECT_EQ(seen.size_count, 2);
  EXPECT_EQ(seen.blocks, 4096);
  EXPECT_EQ(seen.threads, 256);
}

TEST(RunSteps, TellsAKernelWhereWhatItGetsByItsContentsLies) {
  auto plan = parse_plan(
      "plan 1 f(arg0, arg1) ->  {\n  arg0: i32[] input\n  arg1: i64[2] input\n  arena 0\n"
      "  launch k(arg0) with arg1\n}\n");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const void* seen = nullptr;
  const auto first_value = [](const void* self, const LaunchArguments& a, const TdContext*) {
    EXPECT_EQ(a.value_count, 1);
    *static_cast<const void**>(const_cast<void*>(self)) = a.values[0];
  };
  const Launcher launchers[] = {{first_value, &seen, nullptr}};
  RecordingMemory memory;
  int64_t state[2] = {};
  void* addresses[2] = {nullptr, state};
  run_steps(*plan, launchers, addresses, memory, TdContext{});
  EXPECT_EQ(seen, state);
}

TEST(RunSteps, CountsExternCalls) {
  auto plan = parse_plan(
      "plan 1 f(arg0) -> buf2 {\n"
      "  arg0: f32[] input\n  buf1: f32[] extern\n  buf2: f32[] extern\n  arena 0\n"
      "  call buf1 = aten::sin(self=arg0)\n  call buf2 = aten::cos(self=buf1)\n}\n");
  ASSERT_TRUE(plan.ok()) << plan.status();
  RecordingMemory memory;
  void* addresses[3] = {};
  run_steps(*plan, {}, addresses, memory, TdContext{});
  EXPECT_EQ(memory.log, "aten::sin 0;aten::cos 1;");
}

}  // namespace
}  // namespace inductor
