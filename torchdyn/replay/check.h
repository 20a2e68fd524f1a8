// What is wrong with programs when they are compiled.
//   std::vector<std::string> problems = check_compiled(programs, Numerics::kDefault);
//   problems[0] == "result 0 3 of 64 are off: ...";         // "" where nothing is
//   kind_of("raised 'x', eager ''") == "raised"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aten_bridge/base/numerics.h"
#include "aten_bridge/graph/graph.h"

namespace replay {

// "runs in eager: REASON", "rejected: KERNEL ...", or a difference as judge.h has it. The kernels
// of all are built together; no fault leaves a repro.
std::vector<std::string> check_compiled(const std::vector<aten_bridge::Graph>& programs,
                                        aten_bridge::Numerics numerics);

// Problems of one kind are one fault: for an internal error, the place that found it.
std::string_view kind_of(std::string_view problem);

}  // namespace replay
