// How well graphs are fused: kernels, extern calls and bytes moved of each graph of a corpus.
// Fewer is better; a change that makes more is seen here.
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "inductor/schedule/schedule.h"
#include "inductor/schedule/traffic.h"
#include "tests/support/golden.h"
#include "tests/support/on_device.h"

namespace inductor {
namespace {

using aten_bridge::Graph;
using aten_bridge::str_cat;

// A line with the totals, then one a launch: bytes read and written, and the operators.
std::string fusion_of(const Graph& graph, const Features& features) {
  LoopProgram program = lower(graph);
  run_passes(program);
  schedule(program, features);
  int kernels = 0, calls = 0;
  int64_t bytes = 0;
  std::string lines;
  for (const Stmt& stmt : program.body) {
    if (const auto* call = std::get_if<ExternCall>(&stmt)) {
      ++calls;
      lines += str_cat("  extern ", call->op, "\n");
    } else if (const auto* kernel = std::get_if<Kernel>(&stmt)) {
      ++kernels;
      const Traffic t = traffic(program, *kernel);
      bytes += t.read + t.written;
      lines += str_cat("  kernel ", t.read, " + ", t.written, "  ",
                       absl::StrJoin(kernel->origins, ", "), "\n");
    }
  }
  return str_cat(kernels, " kernels, ", calls, " extern calls, ", bytes, " bytes\n", lines);
}

std::string fusion_on_each_device(const std::string& text) {
  auto graph = aten_bridge::parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  if (!graph.ok()) return "";
  const std::string cpu = fusion_of(*graph, Features());
  torchdyn::testing::move_to(*graph, {aten_bridge::Device::Kind::kCuda, 0});
  const std::string cuda = fusion_of(*graph, cuda_features());
  if (cpu == cuda) return str_cat(graph->name, " on cpu and cuda: ", cpu);
  return str_cat(graph->name, " on cpu: ", cpu, graph->name, " on cuda: ", cuda);
}

TEST(FusionGolden, EachGraphOfTheCorpus) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/fusion")) {
    SCOPED_TRACE(golden.path);
    std::string actual;
    for (const std::string& text : std::vector<std::string>(
             absl::StrSplit(golden.section("graphs"), "\n\n", absl::SkipWhitespace())))
      actual += fusion_on_each_device(text);
    torchdyn::testing::check(golden, actual);
  }
}

}  // namespace
}  // namespace inductor
