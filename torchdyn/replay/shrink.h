// Makes a failing program as small as it can be while it still fails in the same way (check.h).
//   Failure smallest = shrink(std::move(failure), check);
//   std::cout << report(smallest);            // a text that runs again: replay.h
//
// Edits: fewer results, a step left out or its result given instead, smaller sizes, plain dtypes,
// strides and arguments, no gradient. Each program that an edit makes is run in eager, which gives
// its values their types and refuses what makes no sense. Indices stay within what they index, so
// that this holds on a GPU too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace replay {

struct Failure {
  aten_bridge::Graph program;
  std::string problem;
};

// The problem of each program, "" where there is none. Many at once: kernels are built together.
using Check = std::function<std::vector<std::string>(const std::vector<aten_bridge::Graph>&)>;

// The programs that are one edit smaller, the boldest edits first.
std::vector<aten_bridge::Graph> smaller(const aten_bridge::Graph& program);
// `progress` is told of each smaller one.
using Progress = std::function<void(const Failure&)>;
Failure shrink(Failure failure, const Check& check, const Progress& progress = {});
std::string report(const Failure& failure);

}  // namespace replay
