#include "bench/gpt/memory_meter.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <sys/resource.h>

namespace gpt {
namespace {

// The allocator reports frees only of what was allocated under a meter, so the sum is never
// negative.
class Reports : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t alloc_size, size_t, size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    const std::lock_guard lock(mutex_);
    held_ += alloc_size;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t held() const {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  mutable std::mutex mutex_;
  int64_t held_ = 0;
  int64_t peak_ = 0;
};

struct OnHost {
  std::shared_ptr<Reports> reports = std::make_shared<Reports>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, reports};

  int64_t held() const { return reports->held(); }
  int64_t peak() const { return reports->peak(); }
};

struct OnGpu {
  explicit OnGpu(c10::Device device)
      : device(device), allocator(c10::getDeviceAllocator(device.type())) {
    allocator->resetPeakStats(device.index());
    before = bytes().current;
  }
  // What was asked for: the blocks that are given depend on what the cache held before.
  c10::CachingAllocator::Stat bytes() const {
    return allocator->getDeviceStats(device.index())
        .requested_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  }
  int64_t held() const { return bytes().current - before; }
  int64_t peak() const { return bytes().peak - before; }

  c10::Device device;
  c10::DeviceAllocator* allocator;
  int64_t before = 0;
};

}  // namespace

struct MemoryMeter::Impl {
  std::optional<OnHost> host;
  std::optional<OnGpu> gpu;
};

MemoryMeter::MemoryMeter(c10::Device device) : impl_(std::make_unique<Impl>()) {
  if (device.is_cpu())
    impl_->host.emplace();
  else
    impl_->gpu.emplace(device);
}
MemoryMeter::~MemoryMeter() = default;
int64_t MemoryMeter::held_bytes() const {
  return impl_->gpu ? impl_->gpu->held() : impl_->host->held();
}
int64_t MemoryMeter::peak_bytes() const {
  return impl_->gpu ? impl_->gpu->peak() : impl_->host->peak();
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace gpt
