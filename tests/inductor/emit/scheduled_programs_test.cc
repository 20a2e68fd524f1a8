// Programs large enough to be cut into chunks, spread over blocks and kept in registers: as
// written, and scheduled, emitted and run.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"

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

// Too many elements for the interpreter where the scheduler makes it of rows and columns.
TEST(ScheduledPrograms, ABlockTakesARowAfterTheOtherAndKeepsSumsOfColumns) {
  auto program = parse_loops(R"(loops 1 rows(x: f32[12, 256]) -> y, s {
  m: f32[3] local
  x_row: f32[256] local
  y: f32[12, 256] output
  s: f32[4, 256] output
  kernel rows lanes 64 groups 1
    for i0 < 4 parallel
      for i1 < 3 reduction
        for i2 < 256 reduction vector
          x_row[i2] = x[768*i0 + 256*i1 + i2]
          m[i1] += x[768*i0 + 256*i1 + i2]
        for i3 < 256 vector
          y[768*i0 + 256*i1 + i3] = sub(x_row[i3], m[i1])
          s[256*i0 + i3] += mul(x_row[i3], m[i1])
}
)");
  ASSERT_TRUE(program.ok()) << program.status();
  const Array x = random_array(program->buffers[program->inputs[0]].type, 1);
  const CompiledKernels kernels = compile_cuda_kernels({&*program}, emit_cuda);
  const std::vector<Array> got = kernels.run(0, {x}, 1);
  const auto at = [](const Array& a, int row, int column) {
    return a.data[256 * row + column].floating;
  };
  for (int chunk = 0; chunk < 4; ++chunk) {
    double sums[3] = {};
    for (int r = 0; r < 3; ++r)
      for (int j = 0; j < 256; ++j) sums[r] += at(x, 3 * chunk + r, j);
    for (int j = 0; j < 256; ++j) {
      double s = 0;
      for (int r = 0; r < 3; ++r) {
        const double own = at(x, 3 * chunk + r, j);
        EXPECT_NEAR(at(got[0], 3 * chunk + r, j), own - sums[r], 1e-3);
        s += own * sums[r];
      }
      EXPECT_NEAR(at(got[1], chunk, j), s, 1e-3 * std::max(1.0, std::fabs(s)));
    }
  }
}

// A row that two loops read, one that is read again, and elements that rows alone tell apart.
std::string rows_of(int64_t length, DType dtype) {
  return absl::StrReplaceAll(
      R"(loops 1 rows(x: TYPE[5, N], b: f32[N], c: f32[5]) -> s, y, z {
  s: f32[5] output
  y: TYPE[5, N] output
  z: TYPE[5, N] output
  for i0 < 5
    for i1 < N reduction
      s[i0] += f32(x[N*i0 + i1])
  for i0 < 5
    for i1 < N
      y[N*i0 + i1] = TYPE(mul(sub(f32(x[N*i0 + i1]), s[i0]), b[i1]))
  for i0 < 5
    for i1 < N
      z[N*i0 + i1] = TYPE(add(f32(x[N*i0 + i1]), c[i0]))
}
)",
      {{"TYPE", std::string(aten_bridge::to_string(dtype))}, {"N", std::to_string(length)}});
}

TEST(ScheduledPrograms, TakeRowsThatBeginAnywhereInPieces) {
  for (DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    std::vector<LoopProgram> programs;
    std::vector<std::vector<Array>> inputs, expected;
    for (int64_t length : {511, 513, 1023, 1025, 1031, 1034, 4097, 8199}) {
      auto program = parse_loops(rows_of(length, dtype));
      ASSERT_TRUE(program.ok()) << program.status();
      std::vector<Array> of_program;
      for (int b : program->inputs)
        of_program.push_back(random_array(program->buffers[b].type, static_cast<unsigned>(length)));
      expected.push_back(evaluate(*program, of_program));
      inputs.push_back(std::move(of_program));
      programs.push_back(*std::move(program));
    }
    std::vector<const LoopProgram*> scheduled;
    for (LoopProgram& program : programs) {
      schedule(program, cuda_features());
      scheduled.push_back(&program);
    }
    const CompiledKernels kernels = compile_cuda_kernels(scheduled, emit_cuda);
    for (size_t p = 0; p < programs.size(); ++p)
      for (int turns : {1, 2})
        EXPECT_EQ(kernels.run(p, inputs[p], turns), expected[p]) << print(programs[p]);
  }
}

}  // namespace
}  // namespace inductor::testing
