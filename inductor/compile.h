// From pure graphs to compiled ones: lower, passes, schedule, emit, plan, build, link.
//   auto compiled = compile({&forward, &backward});
//   if (!compiled.ok()) ...    // the world said no: no compiler, a full disk; run eager instead
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "aten_bridge/base/numerics.h"
#include "aten_bridge/graph/graph.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace inductor {

// What a fault of ours leaves beside its report: a repro and a message that names it, or nothing,
// for those who look for faults and have the graph.
enum class OnFault { kLeaveRepro, kReport };

// All graphs' kernels are built together: equal ones once, in few translation units, in parallel.
// A kernel that the compiler rejects makes its operators extern calls.
// Throws InternalError when a stage breaks the law of its artefact.
absl::StatusOr<std::vector<std::shared_ptr<const CompiledGraph>>> compile(
    std::span<const aten_bridge::Graph* const> graphs,
    aten_bridge::Numerics numerics = aten_bridge::Numerics::kDefault,
    OnFault on_fault = OnFault::kLeaveRepro);

// For a file that runs elsewhere: plans as data, and the kernels of all as one binary a target
// (DeviceBackend::build_for_target); none where there are no kernels. `targets`: empty for machines
// like this one. Unimplemented: graphs on several devices.
struct AheadOfTime {
  std::vector<KernelPlan> plans;  // one a graph
  std::vector<std::string> targets;
  std::vector<std::string> binaries;  // one a target, or none
};
absl::StatusOr<AheadOfTime> compile_ahead(std::span<const aten_bridge::Graph* const> graphs,
                                          aten_bridge::Numerics numerics,
                                          std::vector<std::string> targets = {});

}  // namespace inductor
