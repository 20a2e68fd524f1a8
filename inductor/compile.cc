#include "inductor/compile.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/str_join.h"

#include "aten_bridge/base/broken.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/dump.h"
#include "aten_bridge/base/once.h"
#include "aten_bridge/base/parallel.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/pad_products.h"
#include "aten_bridge/graph/text.h"
#include "inductor/backend/device_backend.h"
#include "inductor/cache/kernel_cache.h"
#include "inductor/cache/private_directory.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "inductor/repro.h"
#include "inductor/runtime/aten/run.h"
#include "inductor/schedule/memory_plan.h"
#include "inductor/schedule/schedule.h"
#include "inductor/timing.h"

namespace inductor {
namespace {

using aten_bridge::dump;
using aten_bridge::DumpStage;
using aten_bridge::for_each_in_parallel;
using aten_bridge::Graph;
using aten_bridge::Numerics;
using aten_bridge::say_once;
using aten_bridge::str_cat;
using aten_bridge::while_making;

// A graph on its way, after everything that needs no compiler.
struct Planned {
  const Graph* graph = nullptr;
  Numerics numerics;
  LeftToAten left;  // operators whose kernels a compiler rejected
  Device device;
  const DeviceBackend* backend = nullptr;
  std::vector<EmittedKernel> kernels;             // one a Launch step, in order
  std::vector<std::vector<std::string>> origins;  // of each kernel
  KernelPlan plan;
  Report report;
};

std::string device_text(const Device& device) {
  return device.kind == Device::Kind::kCpu ? "the CPU" : str_cat("cuda:", device.index);
}

// Extern calls may mix devices as LibTorch allows; a kernel touches memory of its own device only.
absl::Status check_device(const LoopProgram& program, const Kernel& kernel,
                          const EmittedKernel& emitted, const Device& device) {
  for (int b : emitted.buffers) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.type.device == device) continue;
    return absl::UnimplementedError(
        str_cat("tensors on two devices: ", absl::StrJoin(kernel.origins, ", "), " has ",
                print(buffer.type), " where others are on ", device_text(device)));
  }
  return absl::OkStatus();
}

void report_kernel(const LoopProgram& program, const Kernel& kernel, const EmittedKernel& emitted,
                   Report& report) {
  for (KernelReport& known : report.kernels) {
    if (known.name != emitted.name) continue;
    ++known.launches;
    return;
  }
  report.kernels.push_back({emitted.name, kernel.origins, 1, traffic(program, kernel)});
}

absl::Status emit(const LoopProgram& program, Planned& planned) {
  for (const Stmt& stmt : program.body) {
    if (auto* kernel = std::get_if<Kernel>(&stmt)) {
      planned.kernels.push_back(planned.backend->emit(program, *kernel));
      planned.origins.push_back(kernel->origins);
      const EmittedKernel& emitted = planned.kernels.back();
      const absl::Status same = check_device(program, *kernel, emitted, planned.device);
      if (!same.ok()) return same;
      report_kernel(program, *kernel, emitted, planned.report);
      dump(DumpStage::kKernel, str_cat(emitted.name, planned.backend->source_suffix()),
           [&] { return emitted.text; });
    } else if (auto* call = std::get_if<ExternCall>(&stmt)) {
      planned.report.extern_calls.push_back(call->op);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Planned> plan(const Graph& graph, Numerics numerics, LeftToAten left,
                             Timing& timing) {
  Planned planned;
  planned.graph = &graph;
  planned.numerics = numerics;
  planned.left = std::move(left);
  planned.device = device_of(graph);
  auto backend = backend_for(planned.device);
  if (!backend.ok()) return backend.status();
  planned.backend = *backend;

  LoopProgram program = timing.measure("lower", [&] {
    const bool pads = planned.device.kind == Device::Kind::kCuda && numerics == Numerics::kDefault;
    return pads ? lower(pad_products(graph, writes_any_strides, {}), numerics, planned.left)
                : lower(graph, numerics, planned.left);
  });
  timing.measure("passes", [&] { run_passes(program); });
  dump(DumpStage::kLoops, graph.name, [&] { return print(program); });
  planned.report.not_fused =
      timing.measure("schedule", [&] { return schedule(program, planned.backend->features()); });
  dump(DumpStage::kSchedule, graph.name, [&] { return print(program); });
  const absl::Status emitted = timing.measure("emit", [&] { return emit(program, planned); });
  if (!emitted.ok()) return emitted;
  planned.plan = timing.measure("plan", [&] { return plan_memory(program, planned.kernels); });
  planned.plan.device = planned.device;
  dump(DumpStage::kPlan, graph.name, [&] { return print(planned.plan); });
  const absl::Status valid = timing.measure("verify", [&] { return verify(planned.plan); });
  TD_CHECK(valid.ok(), std::string(valid.message()), "\n", print(planned.plan));
  planned.report.arena_bytes = planned.plan.arena_bytes.constant().value_or(0);
  return planned;
}

absl::StatusOr<Planned> plan_graph(const Graph& graph, Numerics numerics, LeftToAten left,
                                   Timing& timing) {
  return while_making([&] { return print(graph); },
                      [&] { return plan(graph, numerics, std::move(left), timing); });
}

struct Loaded {
  std::vector<std::vector<Launcher>> launchers;  // by graph, one a kernel; empty ones: rejected
  std::vector<Rejection> rejected;
};

// The kernels of all graphs of a backend are built together.
absl::StatusOr<Loaded> build_kernels(std::span<const Planned> planned) {
  std::map<const DeviceBackend*, std::vector<size_t>> graphs;
  for (size_t i = 0; i < planned.size(); ++i) graphs[planned[i].backend].push_back(i);
  Loaded built;
  built.launchers.resize(planned.size());
  for (const auto& [backend, members] : graphs) {
    std::vector<const EmittedKernel*> kernels;
    for (size_t i : members)
      for (const EmittedKernel& kernel : planned[i].kernels) kernels.push_back(&kernel);
    auto loaded = KernelCache::of_process()->get(*backend, kernels, nullptr, &built.rejected);
    if (!loaded.ok()) return loaded.status();
    auto next = loaded->begin();
    for (size_t i : members) {
      const auto end = next + static_cast<std::ptrdiff_t>(planned[i].kernels.size());
      built.launchers[i].assign(next, end);
      next = end;
    }
  }
  return built;
}

void leave_repro(const Planned& planned, const Rejection& rejection, const std::string& operators) {
  const std::string& kernel = rejection.kernel.name;
  const std::string repro =
      write_repro(*planned.graph, planned.numerics, *planned.backend, rejection);
  say_once(kernel, str_cat("the compiler rejected ", kernel, ", so ", operators, " run in ATen; ",
                           repro.empty() ? std::string(rejection.status.message())
                                         : str_cat("a repro is in ", repro)));
}

// Plans a graph again with the operators of its rejected kernels left to ATen.
absl::Status plan_without_rejected(Planned& planned, std::span<const Launcher> launchers,
                                   std::span<const Rejection> rejected, OnFault on_fault,
                                   Timing& timing) {
  LeftToAten left = planned.left;
  std::map<std::string, std::string> operators;  // by kernel
  for (size_t k = 0; k < launchers.size(); ++k) {
    if (launchers[k].function) continue;
    left.insert(planned.origins[k].begin(), planned.origins[k].end());
    operators.emplace(planned.kernels[k].name, absl::StrJoin(planned.origins[k], ", "));
  }
  if (left.size() == planned.left.size()) return rejected.front().status;
  for (const Rejection& rejection : rejected) {
    const auto found = operators.find(rejection.kernel.name);
    if (found == operators.end()) continue;  // another graph's
    planned.report.rejected.push_back(
        str_cat(rejection.kernel.name, ": ", std::string(rejection.status.message())));
    if (on_fault == OnFault::kLeaveRepro) leave_repro(planned, rejection, found->second);
  }
  auto again = plan_graph(*planned.graph, planned.numerics, std::move(left), timing);
  if (!again.ok()) return again.status();
  again->report.rejected = std::move(planned.report.rejected);
  planned = *std::move(again);
  return absl::OkStatus();
}

// Builds, and where a compiler rejects kernels, plans and builds again without them. Every round
// leaves more operators to ATen.
absl::StatusOr<std::vector<std::vector<Launcher>>> build_or_leave(std::vector<Planned>& planned,
                                                                  OnFault on_fault,
                                                                  Timing& timing) {
  for (;;) {
    auto built = timing.measure("build", [&] { return build_kernels(planned); });
    if (!built.ok()) return built.status();
    if (built->rejected.empty()) return std::move(built->launchers);
    for (size_t i = 0; i < planned.size(); ++i) {
      const auto& launchers = built->launchers[i];
      const bool complete = std::all_of(launchers.begin(), launchers.end(),
                                        [](const Launcher& l) { return l.function != nullptr; });
      if (complete) continue;
      const absl::Status status =
          plan_without_rejected(planned[i], launchers, built->rejected, on_fault, timing);
      if (!status.ok()) return status;
    }
  }
}

absl::StatusOr<std::vector<Planned>> plan_graphs(std::span<const Graph* const> graphs,
                                                 Numerics numerics, Timing& timing) {
  std::vector<absl::StatusOr<Planned>> each(graphs.size());
  std::vector<Timing> times(graphs.size());
  for_each_in_parallel(graphs.size(),
                       [&](size_t i) { each[i] = plan_graph(*graphs[i], numerics, {}, times[i]); });
  std::vector<Planned> planned;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (!each[i].ok()) return each[i].status();
    planned.push_back(*std::move(each[i]));
    timing.add(times[i]);
  }
  return planned;
}

// All kernels, equal ones once.
std::vector<const EmittedKernel*> kernels_of(std::span<const Planned> planned) {
  std::map<std::string_view, const EmittedKernel*> by_name;
  for (const Planned& one : planned)
    for (const EmittedKernel& kernel : one.kernels) by_name.emplace(kernel.name, &kernel);
  std::vector<const EmittedKernel*> kernels;
  for (const auto& [name, kernel] : by_name) kernels.push_back(kernel);
  return kernels;
}

// One binary's bytes.
absl::StatusOr<std::string> build_for_target(const DeviceBackend& backend, const std::string& text,
                                             const std::string& target) {
  auto directory = PrivateDirectory::make();
  if (!directory.ok()) return directory.status();
  auto files = CacheDirectory(directory->path(), default_cache_limit())
                   .stage("package", backend.source_suffix(), text, backend.binary_suffix());
  if (!files.ok()) return files.status();
  if (absl::Status built = backend.build_for_target(*files, target); !built.ok()) return built;
  std::ifstream file(files->binary, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) return absl::UnavailableError("cannot read " + files->binary);
  return bytes;
}

}  // namespace

absl::StatusOr<AheadOfTime> compile_ahead(std::span<const Graph* const> graphs, Numerics numerics,
                                          std::vector<std::string> targets) {
  Timing timing;
  auto planned = plan_graphs(graphs, numerics, timing);
  if (!planned.ok()) return planned.status();
  // What a compiler rejects was left to ATen when the graphs were compiled, and is found again.
  auto launchers = build_or_leave(*planned, OnFault::kReport, timing);
  if (!launchers.ok()) return launchers.status();
  AheadOfTime ahead;
  for (Planned& one : *planned) {
    if (one.backend != (*planned)[0].backend)
      return absl::UnimplementedError("graphs on several devices in one package");
    ahead.plans.push_back(one.plan);
  }
  if (planned->empty()) return ahead;
  const DeviceBackend& backend = *(*planned)[0].backend;
  if (targets.empty()) targets.push_back(backend.target());
  ahead.targets = std::move(targets);
  const std::vector<const EmittedKernel*> kernels = kernels_of(*planned);
  if (kernels.empty()) return ahead;
  const std::string text = backend.assemble(kernels).text;
  for (const std::string& target : ahead.targets) {
    auto binary = build_for_target(backend, text, target);
    if (!binary.ok()) return binary.status();
    ahead.binaries.push_back(*std::move(binary));
  }
  return ahead;
}

absl::StatusOr<std::vector<std::shared_ptr<const CompiledGraph>>> compile(
    std::span<const Graph* const> graphs, Numerics numerics, OnFault on_fault) {
  Timing timing;
  auto planned_graphs = plan_graphs(graphs, numerics, timing);
  if (!planned_graphs.ok()) return planned_graphs.status();
  std::vector<Planned>& planned = *planned_graphs;

  auto launchers = build_or_leave(planned, on_fault, timing);
  if (!launchers.ok()) return launchers.status();

  std::vector<std::shared_ptr<const CompiledGraph>> compiled;
  for (size_t i = 0; i < planned.size(); ++i) {
    auto linked =
        while_making([&] { return print(*graphs[i]); },
                     [&] { return timing.measure("link", [&] { return link(planned[i].plan); }); });
    if (!linked.ok()) return linked.status();
    compiled.push_back(std::make_shared<CompiledGraph>(
        CompiledGraph{std::move(planned[i].plan), std::move((*launchers)[i]), *std::move(linked),
                      std::move(planned[i].report)}));
  }
  dump(DumpStage::kTiming, "compile", [&] { return timing.text() + "\n"; });
  return compiled;
}

}  // namespace inductor
