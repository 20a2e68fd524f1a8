// Records what a piece of code enqueues on a device, to enqueue it again as one CUDA graph.
//   auto pool = cuda_graph_pool(device);
//   auto pieces = (*pool)->record([&] { outputs = run(graph, inputs); });     // nothing runs yet
//   if (pieces.ok()) for (auto& piece : *pieces) piece->launch(stream);       // now it does
// Memory that is allocated meanwhile is the pool's: nobody else gets it while the pool lives.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace c10 {
struct Device;
}

namespace inductor {

class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;
  // On any stream, one launch after the other. An error of the device is thrown.
  virtual void launch(void* stream) const = 0;
  // The last arguments of the `kernel`th kernel of the piece that was marked, read at once: what
  // later launches pass to it. An error of the device is thrown.
  virtual void set_values(size_t kernel, std::span<void* const> values) = 0;
};

class GraphPool {
 public:
  virtual ~GraphPool() = default;
  using Pieces = std::vector<std::unique_ptr<RecordedGraph>>;
  // One more piece than cuts. A status where the code fails, waits for the device, or does what a
  // graph cannot.
  virtual absl::StatusOr<Pieces> record(const std::function<void()>& body) = 0;
  // Inside record(): what follows is another piece.
  virtual void cut(void* stream) = 0;
  // Inside record(): of the kernel that was enqueued last, which has so many arguments, some are
  // each launch's own.
  virtual void mark_kernel(void* stream, int arguments) = 0;
  // Whether the program itself is recording that stream.
  virtual bool is_recording(void* stream) const = 0;
};

using GraphPoolFactory = std::function<absl::StatusOr<std::unique_ptr<GraphPool>>(c10::Device)>;

// A status where LibTorch's allocator keeps no memory apart (PYTORCH_NO_CUDA_MEMORY_CACHING,
// another allocator), or this library was built without CUDA's headers.
absl::StatusOr<std::unique_ptr<GraphPool>> cuda_graph_pool(c10::Device device);

}  // namespace inductor
