// Programs large enough to be cut into chunks, spread over blocks and kept in registers: as
// written, and scheduled, emitted and run.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/ir/text.h"
#include "inductor/ir/visit.h"
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

// ---- What follows an extremum ----

std::vector<std::vector<Array>> run_in_both_orders(LoopProgram& program,
                                                   const std::vector<Array>& inputs) {
  schedule(program, cuda_features());
  const CompiledKernels kernels = compile_cuda_kernels({&program}, emit_cuda);
  return {kernels.run(0, inputs, 1), kernels.run(0, inputs, 2)};
}

int reductions_in(const LoopProgram& program) {
  int count = 0;
  for_each_stmt(program.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<Loop>(&stmt);
    count += loop && loop->kind == LoopKind::kReduction;
  });
  return count;
}

TEST(ScheduledPrograms, SumExponentialsBelowTheGreatestInOnePass) {
  constexpr int64_t kLength = 32775;  // more than registers hold
  auto program = parse_loops(R"(loops 1 exponentials(x: bf16[6, 32775]) -> m, s {
  m: f32[6] output
  s: f32[6] output
  for i0 < 6
    for i1 < 32775 reduction
      m[i0] max= f32(x[32775*i0 + i1])
  for i0 < 6
    for i1 < 32775 reduction
      s[i0] += exp(sub(f32(x[32775*i0 + i1]), m[i0]))
}
)");
  ASSERT_TRUE(program.ok()) << program.status();
  const double inf = std::numeric_limits<double>::infinity();
  Array x = random_array(program->buffers[program->inputs[0]].type, 1);
  const auto set = [&](int64_t row, int64_t from, int64_t to, double value) {
    for (int64_t i = from; i < to; ++i) x.data[row * kLength + i].floating = value;
  };
  set(1, 0, kLength, -inf);                   // no number: NaN
  set(2, 0, kLength - 1, -inf);               // one number, at the end
  set(3, kLength / 2, kLength / 2 + 1, inf);  // NaN
  set(4, 7, 8, std::numeric_limits<double>::quiet_NaN());
  set(5, 100, 20000, -inf);
  const std::vector<Array> expected = evaluate(*program, {x});
  for (const auto& got : run_in_both_orders(*program, {x})) {
    EXPECT_EQ(reductions_in(*program), 1) << print(*program);
    for (size_t o = 0; o < got.size(); ++o) {
      for (size_t i = 0; i < got[o].data.size(); ++i) {
        const double want = expected[o].data[i].floating, is = got[o].data[i].floating;
        if (std::isfinite(want))
          EXPECT_NEAR(want, is, 1e-4 * std::fabs(want)) << "output " << o << ", row " << i;
        else
          EXPECT_TRUE(want == is || (std::isnan(want) && std::isnan(is)))
              << "output " << o << ", row " << i << ": " << want << ", " << is;
      }
    }
  }
}

// The greatest and the least of columns and of a long row, with their places; NaN is either.
TEST(ScheduledPrograms, FindPlacesOfExtremaInOnePass) {
  for (const char* op : {"max", "min"}) {
    for (const char* sizes : {"3, 40, 60", "2, 33000, 1"}) {
      const std::vector<std::string> n = absl::StrSplit(sizes, ", ");
      const std::string element = n[2] == "1" ? "x[33000*i0 + i2]" : "x[2400*i0 + i1 + 60*i2]";
      const std::string to = n[2] == "1" ? "i0" : "60*i0 + i1";
      const std::string loops = absl::StrCat("  for i0 < ", n[0], "\n    for i1 < ", n[2],
                                             "\n      for i2 < ", n[1], " reduction\n        ");
      auto program = parse_loops(absl::StrReplaceAll(
          absl::StrCat("loops 1 places(x: f32[", sizes, "]) -> m, p {\n  m: f32[", n[0], ", ", n[2],
                       "] output\n  p: i64[", n[0], ", ", n[2], "] output\n", loops,
                       "m[TO] OP= X\n", loops,
                       "p[TO] min= select(bit_or(eq(X, m[TO]), bit_and(ne(X, X), ne(m[TO], "
                       "m[TO]))), index(i2), 9223372036854775807:i64)\n}\n"),
          {{"X", element}, {"TO", to}, {"OP", op}}));
      ASSERT_TRUE(program.ok()) << program.status();
      for (bool specials : {false, true}) {
        LoopProgram scheduled = *parse_loops(print(*program));
        const Array x =
            random_array(scheduled.buffers[scheduled.inputs[0]].type, specials, specials);
        const std::vector<Array> expected = evaluate(scheduled, {x});
        for (const auto& got : run_in_both_orders(scheduled, {x}))
          EXPECT_EQ(got, expected) << print(scheduled);
        EXPECT_EQ(reductions_in(scheduled), 1) << print(scheduled);
      }
    }
  }
}

}  // namespace
}  // namespace inductor::testing
