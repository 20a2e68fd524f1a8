// A plan with its kernels loaded: what every later call runs.
//   CompiledGraph graph{plan, launchers, nullptr, report};
//   graph.linked = link(graph.plan);     // runtime/aten/run.h
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inductor/runtime/core/kernel_plan.h"
#include "inductor/runtime/core/launcher.h"
#include "inductor/schedule/schedule.h"
#include "inductor/schedule/traffic.h"

namespace inductor {

struct KernelReport {
  std::string name;
  std::vector<std::string> origins;  // operators fused into it
  int launches = 0;                  // how often a call launches it
  Traffic traffic;                   // of one launch
};

struct Report {  // for explain()
  std::vector<KernelReport> kernels;
  std::vector<std::string> extern_calls;  // operators, in order of call
  std::vector<FusionNote> not_fused;
  std::vector<std::string> rejected;  // kernels that the compiler did not take, with its words
  int64_t arena_bytes = 0;
};

// What a tensor library prepared for a plan: operators resolved, constant arguments converted. Its
// own matter.
struct LinkedPlan;

struct CompiledGraph {
  KernelPlan plan;
  std::vector<Launcher> launchers;  // one a Launch step, in order
  std::shared_ptr<const LinkedPlan> linked;
  Report report;
};

}  // namespace inductor
