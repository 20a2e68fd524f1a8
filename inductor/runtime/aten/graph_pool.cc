#include "inductor/runtime/aten/graph_pool.h"

#include <c10/core/Device.h>

#if __has_include(<cuda_runtime_api.h>)

#include <atomic>
#include <exception>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "absl/strings/str_cat.h"

#include "inductor/backend/cuda/driver.h"

namespace inductor {
namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

constexpr int kThreadLocal = 1;  // CUstreamCaptureMode of cuda.h: other threads go on as they like

class CudaGraph final : public RecordedGraph {
 public:
  CudaGraph(const CudaDriver& driver, int device, void* executable)
      : driver_(driver), device_(device), executable_(executable) {}
  ~CudaGraph() override { driver_.cuGraphExecDestroy(executable_); }

  void launch(void* stream) const override {
    const int error =
        driver_.in_context(device_, [&] { return driver_.cuGraphLaunch(executable_, stream); });
    TORCH_CHECK(!error, "a CUDA graph was not launched: ", driver_.error_text(error));
  }

 private:
  const CudaDriver& driver_;
  const int device_;
  void* const executable_;
};

// LibTorch numbers its own from 1.
c10::MempoolId_t new_pool_id() {
  static std::atomic<c10::CaptureId_t> last{c10::CaptureId_t{1} << 40};
  return {++last, 0};
}

class CudaGraphPool final : public GraphPool {
 public:
  CudaGraphPool(const CudaDriver& driver, CUDAAllocator& allocator, c10::Device device)
      : driver_(driver), allocator_(allocator), device_(device), id_(new_pool_id()) {}

  ~CudaGraphPool() override {
    for (; uses_ > 0; --uses_) allocator_.releasePool(device_.index(), id_);
  }

  bool is_recording(void* stream) const override {
    int status = 0;
    return driver_.cuStreamIsCapturing(stream, &status) || status != 0;
  }

  absl::StatusOr<std::unique_ptr<RecordedGraph>> record(
      const std::function<void()>& body) override {
    // The default stream cannot be recorded.
    const auto* streams = c10::impl::getDeviceGuardImpl(c10::kCUDA);
    const c10::Stream side = streams->getStreamFromGlobalPool(device_);
    const c10::StreamGuard guard(side);
    void* const stream = side.native_handle();
    allocator_.beginAllocateToPool(device_.index(), id_,
                                   [stream](cudaStream_t s) { return s == stream; });
    ++uses_;
    void* graph = nullptr;
    const absl::Status status = capture(stream, body, &graph);
    allocator_.endAllocateToPool(device_.index(), id_);
    return status.ok() ? instantiate(graph) : status;
  }

 private:
  absl::Status capture(void* stream, const std::function<void()>& body, void** graph) {
    if (int error = driver_.cuStreamBeginCapture_v2(stream, kThreadLocal)) return failure(error);
    absl::Status status;
    try {
      body();
    } catch (const std::exception& e) {
      status = absl::AbortedError(e.what());
    }
    const int error = driver_.cuStreamEndCapture(stream, graph);
    if (status.ok() && error) status = failure(error);
    if (!status.ok() && *graph) driver_.cuGraphDestroy(*graph);
    return status;
  }

  absl::StatusOr<std::unique_ptr<RecordedGraph>> instantiate(void* graph) {
    void* executable = nullptr;
    const int error = driver_.cuGraphInstantiateWithFlags(&executable, graph, /*flags=*/0);
    driver_.cuGraphDestroy(graph);
    if (error) return failure(error);
    return std::make_unique<CudaGraph>(driver_, device_.index(), executable);
  }

  absl::Status failure(int error) const { return absl::AbortedError(driver_.error_text(error)); }

  const CudaDriver& driver_;
  CUDAAllocator& allocator_;
  const c10::Device device_;
  const c10::MempoolId_t id_;
  int uses_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GraphPool>> cuda_graph_pool(c10::Device device) {
  const auto driver = cuda_driver();
  if (!driver.ok()) return driver.status();
  auto* allocator = dynamic_cast<CUDAAllocator*>(c10::GetAllocator(c10::kCUDA));
  if (!allocator) return absl::UnimplementedError("CUDA's allocator has no pools");
  return std::make_unique<CudaGraphPool>(**driver, *allocator, device);
}

}  // namespace inductor

#else

namespace inductor {

absl::StatusOr<std::unique_ptr<GraphPool>> cuda_graph_pool(c10::Device) {
  return absl::UnimplementedError("built without CUDA's headers");
}

}  // namespace inductor

#endif
