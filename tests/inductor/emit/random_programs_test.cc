// Random programs: as written, scheduled and interpreted, scheduled and compiled.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/ir/text.h"
#include "inductor/schedule/schedule.h"
#include "tests/inductor/support/compiled.h"
#include "tests/inductor/support/evaluate.h"
#include "tests/inductor/support/random_program.h"

namespace inductor::testing {
namespace {

constexpr unsigned kPrograms = 60;

std::vector<Array> random_inputs(const LoopProgram& program, unsigned seed) {
  std::vector<Array> inputs;
  for (int b : program.inputs) inputs.push_back(random_array(program.buffers[b].type, seed++));
  return inputs;
}

// Sums may be taken in another order, and half types round what that changes.
bool is_close(const ScalarValue& a, const ScalarValue& b, double tolerance) {
  if (!aten_bridge::is_floating(a.dtype)) return a.integer == b.integer;
  if (std::isnan(a.floating) || std::isnan(b.floating))
    return std::isnan(a.floating) && std::isnan(b.floating);
  if (std::isinf(a.floating) || std::isinf(b.floating)) return a.floating == b.floating;
  return std::fabs(a.floating - b.floating) <= tolerance * std::max(1.0, std::fabs(a.floating));
}

void expect_close(const std::vector<Array>& expected, const std::vector<Array>& actual,
                  const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t o = 0; o < expected.size(); ++o)
    for (size_t i = 0; i < expected[o].data.size(); ++i)
      ASSERT_TRUE(is_close(expected[o].data[i], actual[o].data[i], 2e-2))
          << what << "\noutput " << o << " element " << i << ": " << expected[o].data[i].floating
          << " or " << expected[o].data[i].integer << ", got " << actual[o].data[i].floating
          << " or " << actual[o].data[i].integer;
}

using Compile = std::function<CompiledKernels(const std::vector<const LoopProgram*>&)>;

void compare(const Features& features, const Compile& compile) {
  std::vector<LoopProgram> scheduled;
  std::vector<std::vector<Array>> inputs, expected;
  std::vector<std::string> texts;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    LoopProgram program = random_program(seed);
    inputs.push_back(random_inputs(program, seed));
    expected.push_back(evaluate(program, inputs.back()));
    std::string text = print(program);
    schedule(program, features);
    text += print(program);
    ASSERT_TRUE(verify(program).ok()) << verify(program) << "\n" << text;
    expect_close(expected.back(), evaluate(program, inputs.back()), text);
    texts.push_back(text);
    scheduled.push_back(std::move(program));
  }
  std::vector<const LoopProgram*> pointers;
  for (const LoopProgram& p : scheduled) pointers.push_back(&p);
  const CompiledKernels kernels = compile(pointers);
  for (size_t i = 0; i < scheduled.size(); ++i) {
    const std::vector<Array> three = kernels.run(i, inputs[i], 3);
    expect_close(expected[i], three, texts[i]);
    EXPECT_EQ(three, kernels.run(i, inputs[i], 1)) << "the order of threads changes a result\n"
                                                   << texts[i];
  }
}

TEST(RandomPrograms, ComputeTheSameScheduledAndCompiledForAvx2) {
  compare(Features(), [](const auto& programs) {
    return compile_kernels(programs, "-O1 -mavx2 -mfma -mf16c");
  });
}

TEST(RandomPrograms, ComputeTheSameWithoutAvx2) {
  compare(Features(),
          [](const auto& programs) { return compile_kernels(programs, "-O0 -mno-avx"); });
}

TEST(RandomPrograms, ComputeTheSameScheduledAndCompiledForCuda) {
  compare(cuda_features(),
          [](const auto& programs) { return compile_cuda_kernels(programs, emit_cuda); });
}

}  // namespace
}  // namespace inductor::testing
