#include "tests/fake_cuda/recorder.h"

#include <exception>

#include "aten_bridge/base/check.h"
#include "inductor/runtime/aten/run.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

using inductor::CompiledGraph;
using inductor::LaunchArguments;

using Work = std::vector<std::function<void()>>;
Work* recording = nullptr;  // what is enqueued goes there

void twice_the_sum(const void*, const LaunchArguments& arguments, const inductor::TdContext*) {
  ++recorder().launches;
  const std::vector<void*> buffers(arguments.buffers, arguments.buffers + arguments.buffer_count);
  const auto work = [buffers] {
    for (int i = 0; i < 4; ++i) {
      float sum = 0;
      for (size_t b = 0; b + 1 < buffers.size(); ++b) sum += static_cast<float*>(buffers[b])[i];
      static_cast<float*>(buffers.back())[i] = 2 * sum;
    }
  };
  if (recording) return recording->push_back(work);
  work();
}

class FakeGraph final : public inductor::RecordedGraph {
 public:
  explicit FakeGraph(Work work) : work_(std::move(work)) {}
  void launch(void*) const override {
    ++recorder().replays;
    for (const auto& step : work_) step();
  }

 private:
  const Work work_;
};

class FakePool final : public inductor::GraphPool {
 public:
  absl::StatusOr<std::unique_ptr<inductor::RecordedGraph>> record(
      const std::function<void()>& body) override {
    if (recorder().fails) return absl::AbortedError("an operator waits for the device");
    ++recorder().recorded;
    Work work;
    recording = &work;
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
    return std::make_unique<FakeGraph>(std::move(work));
  }
  bool is_recording(void*) const override { return recorder().program_records; }

 private:
  const MemoryPool memory_;
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
      graph->launchers.push_back({twice_the_sum, nullptr, nullptr});
  auto linked = link(graph->plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  graph->linked = *std::move(linked);
  return graph;
}

}  // namespace fake_cuda
