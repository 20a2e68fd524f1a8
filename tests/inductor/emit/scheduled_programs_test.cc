// Programs large enough to be cut into chunks, spread over blocks and kept in registers: as
// written, and scheduled, emitted and run.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/ir/text.h"
#include "tests/inductor/support/compiled.h"
#include "tests/inductor/support/evaluate.h"
#include "tests/support/golden.h"

namespace inductor::testing {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of all buffers: more takes the interpreter seconds

bool calls(const LoopProgram& program) {
  return std::any_of(program.body.begin(), program.body.end(),
                     [](const Stmt& s) { return std::holds_alternative<ExternCall>(s); });
}

int64_t elements(const LoopProgram& program) {
  int64_t sum = 0;
  for (const Buffer& b : program.buffers) sum += element_count(b.type).as_constant();
  return sum;
}

TEST(ScheduledPrograms, ComputeOnCudaWhatIsWritten) {
  int run = 0;
  for (const char* folder : {"inductor/schedule", "inductor/schedule_cuda"}) {
    for (const auto& golden : torchdyn::testing::goldens(folder)) {
      auto program = parse_loops(golden.section("loops"));
      ASSERT_TRUE(program.ok()) << golden.path << ": " << program.status();
      if (calls(*program) || elements(*program) > kMostElements) continue;
      std::vector<Array> inputs;
      for (int b : program->inputs) inputs.push_back(random_array(program->buffers[b].type, ++run));
      const std::vector<Array> expected = evaluate(*program, inputs);
      schedule(*program, cuda_features());
      const CompiledKernels kernels = compile_cuda_kernels({&*program}, emit_cuda);
      for (int turns : {1, 2}) {
        const std::vector<Array> got = kernels.run(0, inputs, turns);
        for (size_t o = 0; o < got.size(); ++o) {
          for (size_t i = 0; i < got[o].data.size(); ++i) {
            const double want = expected[o].data[i].floating, is = got[o].data[i].floating;
            ASSERT_NEAR(want, is, 1e-4 * std::max(1.0, std::fabs(want)))
                << golden.path << ", output " << o << ", element " << i << "\n"
                << print(*program);
          }
        }
      }
    }
  }
  EXPECT_GE(run, 8);
}

}  // namespace
}  // namespace inductor::testing
