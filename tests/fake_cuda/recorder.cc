#include "tests/fake_cuda/recorder.h"

#include <exception>
#include <span>
#include <utility>

#include "aten_bridge/base/check.h"
#include "inductor/runtime/aten/run.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

using inductor::CompiledGraph;
using inductor::LaunchArguments;

struct Kernel {
  std::vector<void*> buffers;
  std::vector<int64_t> values;

  void run() const {
    for (int i = 0; i < 4; ++i) {
      float sum = 0;
      for (size_t b = 0; b + 1 < buffers.size(); ++b) sum += static_cast<float*>(buffers[b])[i];
      for (int64_t value : values) sum += static_cast<float>(value);
      static_cast<float*>(buffers.back())[i] = 2 * sum;
    }
  }
};
using Kernels = std::vector<Kernel>;
Kernels* recording = nullptr;  // what is enqueued goes there

// Two words of each of its numbers.
std::vector<int64_t> words(void* const* values, size_t count) {
  std::vector<int64_t> words;
  for (size_t v = 0; v < count; ++v) {
    const auto* of_one = static_cast<const int64_t*>(values[v]);
    words.insert(words.end(), of_one, of_one + 2);
  }
  return words;
}

void launch(const void*, const LaunchArguments& arguments, const inductor::TdContext*) {
  ++recorder().launches;
  const Kernel kernel{{arguments.buffers, arguments.buffers + arguments.buffer_count},
                      words(arguments.values, static_cast<size_t>(arguments.value_count))};
  if (recording) return recording->push_back(kernel);
  kernel.run();
}

class FakeGraph final : public inductor::RecordedGraph {
 public:
  FakeGraph(Kernels kernels, std::vector<size_t> marked)
      : kernels_(std::move(kernels)), marked_(std::move(marked)) {}
  void launch(void*) const override {
    ++recorder().replays;
    for (const Kernel& kernel : kernels_) kernel.run();
  }
  void set_values(size_t kernel, std::span<void* const> values) override {
    kernels_[marked_[kernel]].values = words(values.data(), values.size());
  }

 private:
  Kernels kernels_;
  const std::vector<size_t> marked_;
};

class FakePool final : public inductor::GraphPool {
 public:
  absl::StatusOr<Pieces> record(const std::function<void()>& body) override {
    if (recorder().fails) return absl::AbortedError("an operator waits for the device");
    ++recorder().recorded;
    recording = &kernels_;
    pieces_.clear();
    memory_.enter();
    absl::Status status;
    try {
      body();
    } catch (const std::exception& error) {
      status = absl::AbortedError(error.what());
    }
    memory_.leave();
    recording = nullptr;
    if (!status.ok()) return status;
    cut(nullptr);
    return std::move(pieces_);
  }
  void cut(void*) override {
    pieces_.push_back(
        std::make_unique<FakeGraph>(std::exchange(kernels_, {}), std::exchange(marked_, {})));
  }
  void mark_kernel(void*, int) override { marked_.push_back(recording->size() - 1); }
  bool is_recording(void*) const override { return recorder().program_records; }

 private:
  const MemoryPool memory_;
  Kernels kernels_;
  std::vector<size_t> marked_;
  Pieces pieces_;
};

}  // namespace

Recorder& recorder() {
  static Recorder recorder;
  return recorder;
}

absl::StatusOr<std::unique_ptr<inductor::GraphPool>> fake_pool(c10::Device) {
  return std::make_unique<FakePool>();
}

std::shared_ptr<const CompiledGraph> compiled(const std::string& text) {
  auto plan = inductor::parse_plan(text);
  TD_CHECK(plan.ok(), std::string(plan.status().message()));
  TD_CHECK(verify(*plan).ok(), std::string(verify(*plan).message()));
  auto graph = std::make_shared<CompiledGraph>();
  graph->plan = *std::move(plan);
  for (const inductor::Step& step : graph->plan.steps)
    if (std::holds_alternative<inductor::Launch>(step))
      graph->launchers.push_back({launch, nullptr, nullptr});
  auto linked = link(graph->plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  graph->linked = *std::move(linked);
  return graph;
}

}  // namespace fake_cuda
