// What it takes to look into a kernel that a compiler rejected, as a folder.
//   std::string folder = write_repro(graph, *backend, rejection);
//
// In it: the graph as text, the translation unit, the compiler's words, and a README that says how
// to run the graph again. Equal kernels share a folder.
#pragma once

#include <string>

#include "aten_bridge/graph/graph.h"
#include "inductor/backend/device_backend.h"
#include "inductor/cache/kernel_cache.h"

namespace inductor {

// The folder, inside the cache directory; empty where it cannot be written.
std::string write_repro(const aten_bridge::Graph& graph, const DeviceBackend& backend,
                        const Rejection& rejection);

}  // namespace inductor
