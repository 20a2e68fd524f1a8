#include "inductor/runtime/aten/graph_pool.h"

#include <c10/core/Device.h>

#if __has_include(<cuda_runtime_api.h>)

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "absl/strings/str_cat.h"

#include "inductor/backend/cuda/driver.h"

namespace inductor {
namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

constexpr int kThreadLocal = 1;  // CUstreamCaptureMode of cuda.h: other threads go on as they like

struct MarkedKernel {
  void* node;
  int arguments;
  CudaKernelNode as_recorded{};  // its memory is the node's
};

class CudaGraph final : public RecordedGraph {
 public:
  CudaGraph(const CudaDriver& driver, int device, void* graph, std::vector<MarkedKernel> kernels)
      : driver_(driver), device_(device), graph_(graph), kernels_(std::move(kernels)) {}
  ~CudaGraph() override {
    if (executable_) driver_.cuGraphExecDestroy(executable_);
    driver_.cuGraphDestroy(graph_);  // whose nodes name the kernels
  }

  int instantiate() {
    for (MarkedKernel& kernel : kernels_)
      if (int e = driver_.cuGraphKernelNodeGetParams_v2(kernel.node, &kernel.as_recorded)) return e;
    return driver_.cuGraphInstantiateWithFlags(&executable_, graph_, /*flags=*/0);
  }

  void launch(void* stream) const override {
    const int error =
        driver_.in_context(device_, [&] { return driver_.cuGraphLaunch(executable_, stream); });
    TORCH_CHECK(!error, "a CUDA graph was not launched: ", driver_.error_text(error));
  }

  void set_values(size_t kernel, std::span<void* const> values) override {
    const MarkedKernel& marked = kernels_[kernel];
    CudaKernelNode now = marked.as_recorded;
    std::vector<void*> arguments(now.parameters, now.parameters + marked.arguments);
    std::copy(values.begin(), values.end(), arguments.end() - values.size());
    now.parameters = arguments.data();
    const int error = driver_.in_context(device_, [&] {
      return driver_.cuGraphExecKernelNodeSetParams_v2(executable_, marked.node, &now);
    });
    TORCH_CHECK(!error,
                "a kernel of a CUDA graph was not given its numbers: ", driver_.error_text(error));
  }

 private:
  const CudaDriver& driver_;
  const int device_;
  void* const graph_;
  void* executable_ = nullptr;
  std::vector<MarkedKernel> kernels_;
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

  void mark_kernel(void* stream, int arguments) override {
    int status = 0;
    uint64_t id = 0;
    void* graph = nullptr;
    void* const* nodes = nullptr;
    size_t count = 0;
    const int error =
        driver_.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count);
    TORCH_CHECK(!error, "a recorded kernel is not found: ", driver_.error_text(error));
    TORCH_CHECK(count == 1, "a recorded kernel is not found among ", count);
    marked_.push_back({nodes[0], arguments});
  }

  bool is_recording(void* stream) const override {
    int status = 0;
    return driver_.cuStreamIsCapturing(stream, &status) || status != 0;
  }

  absl::StatusOr<Pieces> record(const std::function<void()>& body) override {
    // The default stream cannot be recorded.
    const auto* streams = c10::impl::getDeviceGuardImpl(c10::kCUDA);
    const c10::Stream side = streams->getStreamFromGlobalPool(device_);
    const c10::StreamGuard guard(side);
    void* const stream = side.native_handle();
    allocator_.beginAllocateToPool(device_.index(), id_,
                                   [stream](cudaStream_t s) { return s == stream; });
    ++uses_;
    absl::Status status;
    try {
      begin(stream);
      body();
    } catch (const std::exception& e) {
      status = absl::AbortedError(e.what());
    }
    if (const absl::Status ended = end(stream); status.ok()) status = ended;
    allocator_.endAllocateToPool(device_.index(), id_);
    Pieces pieces = std::move(pieces_);
    pieces_.clear();
    if (!status.ok()) return status;
    return pieces;
  }

  void cut(void* stream) override {
    const absl::Status status = end(stream);
    TORCH_CHECK(status.ok(), status.message());
    begin(stream);
  }

 private:
  void begin(void* stream) {
    marked_.clear();
    const int error = driver_.cuStreamBeginCapture_v2(stream, kThreadLocal);
    TORCH_CHECK(!error, driver_.error_text(error));
  }

  absl::Status end(void* stream) {
    if (!is_recording(stream)) return absl::OkStatus();  // it never began
    void* graph = nullptr;
    int error = driver_.cuStreamEndCapture(stream, &graph);
    if (!graph) return failure(error);
    auto piece = std::make_unique<CudaGraph>(driver_, device_.index(), graph, std::move(marked_));
    if (!error) error = piece->instantiate();
    pieces_.push_back(std::move(piece));
    return error ? failure(error) : absl::OkStatus();
  }

  absl::Status failure(int error) const { return absl::AbortedError(driver_.error_text(error)); }

  const CudaDriver& driver_;
  CUDAAllocator& allocator_;
  const c10::Device device_;
  const c10::MempoolId_t id_;
  int uses_ = 0;
  std::vector<MarkedKernel> marked_;  // of the piece that is recorded
  Pieces pieces_;
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
