#include "tests/fake_cuda/fake_cuda.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

namespace fake_cuda {
namespace {

constexpr c10::DeviceIndex kDevices = 2;

thread_local c10::DeviceIndex current_device = 0;
thread_local std::array<c10::StreamId, kDevices> current_streams{};

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  static constexpr c10::DeviceType static_type = c10::kCUDA;
  explicit Guard(c10::DeviceType = c10::kCUDA) {}

  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device getDevice() const override { return {c10::kCUDA, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { setDevice(device); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, current_streams[device.index()]);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    current_streams[stream.device_index()] = stream.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(static_cast<intptr_t>(stream.id()));
  }
  // Nothing runs, so there is nothing to wait for.
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

std::atomic<int64_t> in_use{0}, kept_by_pools{0}, most_reserved{0};
std::atomic<bool> fails{false};

}  // namespace

struct MemoryPool::Blocks {
  std::multimap<size_t, void*> free;  // by their bytes
  ~Blocks() {
    for (auto [bytes, memory] : free) {
      kept_by_pools -= static_cast<int64_t>(bytes);
      std::free(memory);
    }
  }
};

namespace {

thread_local std::shared_ptr<MemoryPool::Blocks> current_pool;

struct Block {
  void* memory;
  size_t capacity;
  int64_t bytes;                                            // that were asked for
  std::shared_ptr<MemoryPool::Blocks> pool = current_pool;  // null: nobody's
};

Block new_block(size_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t capacity = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (current_pool) {
    auto& free = current_pool->free;
    if (const auto found = free.lower_bound(capacity); found != free.end()) {
      const Block block{found->second, found->first, static_cast<int64_t>(bytes)};
      kept_by_pools -= static_cast<int64_t>(found->first);
      free.erase(found);
      return block;
    }
  }
  return {std::aligned_alloc(kAlignment, capacity), capacity, static_cast<int64_t>(bytes)};
}

void free_block(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  in_use -= block->bytes;
  if (block->pool) {
    kept_by_pools += static_cast<int64_t>(block->capacity);
    block->pool->free.emplace(block->capacity, block->memory);
  } else {
    std::free(block->memory);
  }
}

using c10::CachingAllocator::StatType;

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    TORCH_CHECK_WITH(OutOfMemoryError, !fails.exchange(false), "CUDA out of memory (in a test)");
    auto* block = new Block(new_block(bytes));
    in_use += block->bytes;
    most_reserved = std::max<int64_t>(most_reserved, in_use + kept_by_pools);
    return {block->memory, block, &free_block, {c10::kCUDA, current_device}};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  // As of an allocator that keeps nothing but what pools do.
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    auto& reserved = stats.reserved_bytes[static_cast<size_t>(StatType::AGGREGATE)];
    reserved.current = in_use + kept_by_pools;
    reserved.peak = most_reserved;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { most_reserved = in_use + kept_by_pools; }
};

bool records = false;

// As CUDA's: Philox, which is a seed and an offset, that several handles may share; deaf while a
// graph is recorded.
class Generator final : public c10::GeneratorImpl {
  using State = std::array<uint64_t, 2>;

 public:
  explicit Generator(std::shared_ptr<State> state = std::make_shared<State>(State{
                         c10::default_rng_seed_val, 0}))
      : GeneratorImpl(kDevice, c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        state_(std::move(state)) {}
  void set_current_seed(uint64_t seed) override { *state_ = {seed, 0}; }
  uint64_t current_seed() const override {
    TORCH_CHECK(!records, "Cannot call CUDAGeneratorImpl::current_seed (in a test)");
    return (*state_)[0];
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return current_seed();
  }
  void set_offset(uint64_t offset) override {
    (*state_)[1] = offset;
    ++offsets_told;
  }
  uint64_t get_offset() const override { return (*state_)[1]; }
  void set_state(const c10::TensorImpl& state) override {
    std::memcpy(state_->data(), state.data(), sizeof *state_);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::TensorBase state = at::detail::empty_cpu({sizeof *state_}, at::kByte, {}, {}, {}, {});
    std::memcpy(state.data_ptr(), state_->data(), sizeof *state_);
    return state.getIntrusivePtr();
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    return c10::make_intrusive<Generator>(state_);
  }

  int offsets_told = 0;  // to this handle

 private:
  Generator* clone_impl() const override { return new Generator(std::make_shared<State>(*state_)); }
  std::shared_ptr<State> state_;
};

// LibTorch looks for a class of this name.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return kDevices; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator generator = at::make_generator<Generator>();
    return generator;
  }
};
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

int64_t choose_flash(const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&,
                     double, bool, std::optional<double>, bool) {
  return static_cast<int64_t>(sdp::SDPBackend::flash_attention);
}

Tensor& copy_(Tensor& self, const Tensor& source, bool) {
  to_cpu(self).copy_(to_cpu(source));
  return self;
}

Tensor mm(const Tensor& a, const Tensor& b) { return in_host_memory(to_cpu(a).mm(to_cpu(b))); }

// As an operator that draws: adds where the generator stood.
Tensor bernoulli(const Tensor& self, std::optional<at::Generator>) {
  at::Generator generator = at::globalContext().defaultGenerator(kDevice);
  const auto offset = static_cast<double>(generator.get_offset());
  generator.set_offset(generator.get_offset() + 4);
  return in_host_memory(to_cpu(self) + offset);
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_fused_sdp_choice", choose_flash);
  m.impl("copy_", copy_);
  m.impl("mm", mm);
  m.impl("bernoulli", bernoulli);
}

const bool registered = [] {
  at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_flash);
  c10::SetAllocator(c10::kCUDA, new Allocator);
  return true;
}();

Tensor tensor_over(c10::DataPtr data, const Tensor& like, int64_t offset) {
  const auto key = data.device().is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  c10::Storage storage(c10::Storage::use_byte_size_t(), like.storage().nbytes(), std::move(data),
                       /*allocator=*/nullptr, /*resizable=*/false);
  Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                           c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), offset);
  return tensor;
}

c10::DataPtr memory_of(const Tensor& tensor, c10::Device device) {
  auto* keep = new c10::Storage(tensor.storage());
  return {keep->mutable_data(), keep, [](void* k) { delete static_cast<c10::Storage*>(k); },
          device};
}

}  // namespace

Tensor on_cuda(at::IntArrayRef sizes, at::ScalarType dtype) {
  return on_cuda_like(at::Tensor(at::detail::empty_meta(sizes, dtype)));
}

Tensor on_cuda_like(const Tensor& tensor) {
  return tensor_over(c10::DataPtr(nullptr, kDevice), tensor, tensor.storage_offset())
      .set_requires_grad(tensor.requires_grad());
}

Tensor in_host_memory(const Tensor& cpu, c10::Device device) {
  return tensor_over(memory_of(cpu, device), cpu, cpu.storage_offset());
}

Tensor to_cpu(const Tensor& tensor) {
  return tensor_over(memory_of(tensor, c10::kCPU), tensor, tensor.storage_offset());
}

MemoryPool::MemoryPool() : blocks_(std::make_shared<Blocks>()) {}
void MemoryPool::enter() const { current_pool = blocks_; }
void MemoryPool::leave() const { current_pool = nullptr; }

int64_t bytes_in_use() { return in_use; }
void record_a_graph(bool on) { records = on; }
int offsets_told() {
  const at::Generator generator = at::globalContext().defaultGenerator(kDevice);
  return static_cast<const Generator*>(generator.unsafeGetGeneratorImpl())->offsets_told;
}
void fail_next_allocation() { fails = true; }

}  // namespace fake_cuda
