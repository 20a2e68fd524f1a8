// Graphs of one operator, as tests/inductor/lowering/aten/cases.h writes them, on the tests'
// device.
#pragma once

#include <string>

#include "aten_bridge/trace/convert.h"
#include "tests/e2e/test_device.h"
#include "tests/inductor/lowering/aten/cases.h"
#include "tests/support/on_device.h"

namespace inductor::testing {

// A case is for the CPU, whose name the text of types leaves out.
inline aten_bridge::Graph on_test_device(const std::string& one_case) {
  aten_bridge::Graph graph = graph_of(one_case);
  if (!test_device().is_cpu())
    torchdyn::testing::move_to(graph, aten_bridge::to_device(test_device()));
  return graph;
}

}  // namespace inductor::testing
