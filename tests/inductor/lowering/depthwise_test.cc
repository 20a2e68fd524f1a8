// Convolutions of single channels: as written, as lowered, and as kernels of an imitated GPU.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "inductor/schedule/schedule.h"
#include "tests/inductor/support/compiled.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_cat;

struct Geometry {
  const char* dtype;
  int64_t batch, channels, rows, columns, filter_rows, filter_columns, stride, padding;

  int64_t out_rows() const { return (rows + 2 * padding - filter_rows) / stride + 1; }
  int64_t out_columns() const { return (columns + 2 * padding - filter_columns) / stride + 1; }
};

constexpr Geometry kGeometries[] = {
    {"f32", 2, 8, 7, 7, 3, 3, 1, 1},    // seven neighbours
    {"bf16", 2, 24, 8, 8, 3, 3, 2, 1},  // four, of both parities in the gradient
    {"bf16", 1, 40, 14, 14, 5, 5, 1, 2},
    {"f16", 3, 5, 9, 6, 5, 3, 2, 2},    // channels that no vector fits
    {"f32", 1, 3, 11, 11, 3, 3, 1, 0},  // a row that cannot be divided, no padding
    {"f32", 2, 32, 7, 7, 7, 7, 1, 3},   // windows as large as the image
    {"f32", 1, 6, 6, 6, 2, 2, 2, 0},    // windows side by side
    {"f32", 1, 4, 10, 10, 2, 2, 3, 0},  // and with gaps
    {"f32", 2, 4, 5, 5, 1, 3, 1, 1},
    {"bf16", 96, 16, 7, 7, 3, 3, 1, 1},  // sums that are cut into chunks
};

std::string image(const Geometry& g, int64_t rows, int64_t columns) {
  return str_cat(g.dtype, "[", g.batch, ", ", g.channels, ", ", rows, ", ", columns, "]{",
                 rows * columns * g.channels, ", 1, ", columns * g.channels, ", ", g.channels,
                 "}@cuda:0");
}

std::string graph_text(const Geometry& g) {
  const std::string x = image(g, g.rows, g.columns), y = image(g, g.out_rows(), g.out_columns());
  const std::string w =
      str_cat(g.dtype, "[", g.channels, ", 1, ", g.filter_rows, ", ", g.filter_columns, "]@cuda:0");
  const std::string how =
      str_cat("stride=[", g.stride, ", ", g.stride, "], padding=[", g.padding, ", ", g.padding,
              "], dilation=[1, 1], transposed=false, output_padding=[0, 0], groups=", g.channels);
  return str_cat("graph 1 depthwise(x: ", x, ", w: ", w, ", gy: ", y, ") {\n  %0: ", y,
                 " = aten::convolution(input=x, weight=w, bias=none, ", how, ")\n  %1: ", x,
                 ", %2: ", w,
                 ", %3: none = aten::convolution_backward(grad_output=gy, input=x, weight=w, "
                 "bias_sizes=none, ",
                 how, ", output_mask=[true, true, false])\n  return %0, %1, %2\n}\n");
}

// The sums as their definition has them: of images in the order of memory, results row by row.
std::vector<std::vector<double>> written_out(const Geometry& g, const std::vector<Array>& in) {
  const int64_t out_rows = g.out_rows(), out_columns = g.out_columns();
  const auto value = [&](int i, int64_t at) { return in[i].data[at].floating; };
  std::vector<double> y(in[2].data.size()), gx(in[0].data.size()), gw(in[1].data.size());
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t r = 0; r < out_rows; ++r)
      for (int64_t c = 0; c < out_columns; ++c)
        for (int64_t i = 0; i < g.filter_rows; ++i)
          for (int64_t j = 0; j < g.filter_columns; ++j) {
            const int64_t row = r * g.stride - g.padding + i, column = c * g.stride - g.padding + j;
            if (row < 0 || row >= g.rows || column < 0 || column >= g.columns) continue;
            for (int64_t k = 0; k < g.channels; ++k) {
              const int64_t at_x = ((n * g.rows + row) * g.columns + column) * g.channels + k;
              const int64_t at_y = ((n * out_rows + r) * out_columns + c) * g.channels + k;
              const int64_t at_w = (k * g.filter_rows + i) * g.filter_columns + j;
              const int64_t plane = n * g.channels + k;
              y[(plane * out_rows + r) * out_columns + c] += value(0, at_x) * value(1, at_w);
              gx[(plane * g.rows + row) * g.columns + column] += value(2, at_y) * value(1, at_w);
              gw[at_w] += value(2, at_y) * value(0, at_x);
            }
          }
  return {y, gx, gw};
}

void expect_near(const std::vector<Array>& got, const std::vector<std::vector<double>>& want,
                 const Geometry& g) {
  const std::string dtype = g.dtype;
  const double rounding = dtype == "f32" ? 1e-5 : dtype == "f16" ? 1e-3 : 8e-3;
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < got.size(); ++o) {
    double scale = 1;
    for (double v : want[o]) scale = std::max(scale, std::fabs(v));
    for (size_t i = 0; i < want[o].size(); ++i)
      ASSERT_NEAR(got[o].data[i].floating, want[o][i], rounding * scale)
          << "output " << o << ", element " << i;
  }
}

TEST(Depthwise, ComputesWhatIsWrittenAndOnAGpuToo) {
  std::vector<LoopProgram> programs;
  std::vector<std::vector<Array>> inputs;
  std::vector<std::vector<std::vector<double>>> wanted;
  for (const Geometry& g : kGeometries) {
    SCOPED_TRACE(graph_text(g));
    const auto graph = aten_bridge::parse_graph(graph_text(g));
    ASSERT_TRUE(graph.ok()) << graph.status();
    LoopProgram program = lower(*graph);
    ASSERT_TRUE(verify(program).ok()) << verify(program);
    for (const Stmt& stmt : program.body) ASSERT_FALSE(std::holds_alternative<ExternCall>(stmt));
    std::vector<Array> values;
    for (int b : program.inputs)
      values.push_back(random_array(program.buffers[b].type, static_cast<int>(values.size()) + 1));
    wanted.push_back(written_out(g, values));
    expect_near(evaluate(program, values), wanted.back(), g);
    run_passes(program);
    schedule(program, cuda_features());
    programs.push_back(std::move(program));
    inputs.push_back(std::move(values));
  }
  std::vector<const LoopProgram*> pointers;
  for (const LoopProgram& program : programs) pointers.push_back(&program);
  const CompiledKernels kernels = compile_cuda_kernels(pointers, emit_cuda);
  for (size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(graph_text(kGeometries[i]));
    expect_near(kernels.run(static_cast<int>(i), inputs[i], 1), wanted[i], kGeometries[i]);
  }
}

// What runs in ATen, and why: cuDNN's convolutions, and what no kernel here is written for.
TEST(Depthwise, LeavesOthersToAten) {
  const auto calls = [](std::string text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    const auto graph = aten_bridge::parse_graph(text);
    EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
    int count = 0;
    if (graph.ok())
      for (const Stmt& stmt : lower(*graph).body) count += std::holds_alternative<ExternCall>(stmt);
    return count;
  };
  const std::string text = graph_text(kGeometries[0]);
  EXPECT_EQ(calls(text, "@cuda:0", "@cuda:0"), 0);
  EXPECT_EQ(calls(text, "@cuda:0", ""), 2);
  EXPECT_EQ(calls(text, "groups=8", "groups=1"), 2);
  EXPECT_EQ(calls(text, "f32", "f64"), 2);
  EXPECT_EQ(calls(text, "dilation=[1, 1]", "dilation=[2, 2]"), 2);
  EXPECT_EQ(calls(text, "{392, 1, 56, 8}", ""), 2);  // rows of one channel
}

}  // namespace
}  // namespace inductor::testing
