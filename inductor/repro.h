// What it takes to look into a fault of ours, as a folder: torchdyn/replay/replay.h runs it again.
//   std::string folder = write_repro({.name = "kernel_ab12", .problem = ..., .graph =
//   print(graph)});
//
// In it: the graph as text (dtypes, sizes, strides and devices of its inputs are in the first
// lines), the options, and a README that says what went wrong and how to run the graph again; for a
// kernel that a compiler rejected, the translation unit and the compiler's words too. Equal faults
// share a folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "aten_bridge/base/numerics.h"
#include "aten_bridge/graph/graph.h"
#include "inductor/backend/device_backend.h"
#include "inductor/cache/kernel_cache.h"

namespace inductor {

struct Repro {
  struct File {
    std::string name, text, about;
  };
  std::string name;  // of its folder
  std::string problem;
  std::string graph;    // aten_bridge/graph/text.h
  std::string options;  // as aten_bridge/base/options.h prints them
  std::vector<File> more = {};
};

// The folder, inside the cache directory; empty where it cannot be written.
std::string write_repro(const Repro& repro);
std::string write_repro(const aten_bridge::Graph& graph, aten_bridge::Numerics numerics,
                        const DeviceBackend& backend, const Rejection& rejection);

}  // namespace inductor
