#include "torchdyn/replay/check.h"

#include "aten_bridge/graph/partition.h"
#include "aten_bridge/trace/interpret.h"
#include "inductor/lowering/lowering.h"
#include "torchdyn/calls.h"
#include "torchdyn/replay/judge.h"

namespace replay {
namespace {

using aten_bridge::Graph;

torchdyn::internal::TraceRef trace_of(const Graph& program) {
  return {[](void* self, const Tensors& fakes, const std::vector<int64_t>&) {
            return torchdyn::internal::Traced{
                aten_bridge::interpret(*static_cast<const Graph*>(self), fakes), {}, nullptr};
          },
          const_cast<Graph*>(&program)};
}

std::string problem_of(const Graph& program, const torchdyn::CompiledCall& call) {
  if (!call.eager_reason().empty()) return "runs in eager: " + call.eager_reason();
  for (const auto& graph : call.explanation().graphs)
    if (!graph.rejected.empty()) return "rejected: " + graph.rejected[0];
  return difference(program, [&](const Tensors& x) { return call(x); });
}

}  // namespace

std::vector<std::string> check_compiled(const std::vector<Graph>& programs,
                                        aten_bridge::Numerics numerics) {
  std::vector<torchdyn::CallToCompile> calls;
  for (const Graph& program : programs) calls.push_back({trace_of(program), inputs_of(program)});
  const auto compiled = torchdyn::compile_calls(calls, numerics, inductor::OnFault::kReport);
  std::vector<std::string> problems;
  for (size_t i = 0; i < programs.size(); ++i)
    problems.push_back(problem_of(programs[i], *compiled[i]));
  return problems;
}

std::string_view kind_of(std::string_view problem) {
  constexpr std::string_view kInternal = "internal error: ";
  if (const size_t at = problem.find(kInternal); at != problem.npos) {
    const std::string_view place = problem.substr(at + kInternal.size());
    return place.substr(0, place.find(": "));
  }
  for (std::string_view kind : {"runs in eager", "rejected", "raised"})
    if (problem.starts_with(kind)) return kind;
  return problem.empty() ? "" : "value";
}

}  // namespace replay
