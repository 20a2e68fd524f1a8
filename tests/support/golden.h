// Goldens: a text in, the text that one stage makes of it out.
//
//   # what this pins
//   stage: lower
//   --- graph
//   graph 1 f(x: f32[8]) { ... }
//   --- expect
//   loops 1 f(x: f32[8]) -> buf0 { ... }
//
//   for (const Golden& golden : goldens("inductor/lowering"))
//     check(golden, print(lower(*parse_graph(golden.section("graph")))));
// TORCHDYN_REBASE=1 writes what came out into the file instead of comparing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchdyn::testing {

struct Golden {
  std::string path;  // from the top of the source tree
  std::string stage;
  std::vector<std::pair<std::string, std::string>> sections;  // "graph" -> its text; expect aside
  std::string expected;

  const std::string& section(std::string_view name) const;  // fails the test where there is none
};

// The files of tests/golden/<folder>, by name; a test fails where there are none.
std::vector<Golden> goldens(std::string_view folder);
void check(const Golden& golden, const std::string& actual);

}  // namespace torchdyn::testing
