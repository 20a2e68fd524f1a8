#include "inductor/runtime/aten/run.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/philox.h"
#include "inductor/runtime/aten/tensor_over.h"
#include "inductor/runtime/core/run_steps.h"

namespace inductor {
namespace {

// LibTorch's own threads: one pool a process, and at::set_num_threads counts for compiled code too.
void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
                  void* argument) {
  at::parallel_for(0, count, grain,
                   [&](int64_t begin, int64_t end) { body(argument, begin, end); });
}

// The bytes of a tensor as they lie in memory, gaps and shared elements included.
at::Tensor bytes_of(const at::Tensor& tensor, int64_t bytes) {
  const auto item = static_cast<int64_t>(tensor.dtype().itemsize());
  return tensor_over(tensor.storage(), caffe2::TypeMeta::Make<uint8_t>(), {bytes}, {1},
                     tensor.storage_offset() * item);
}

bool has_layout(const at::Tensor& tensor, const Layout& layout) {
  const auto strides = tensor.strides();
  for (size_t d = 0; d < layout.sizes.size(); ++d)
    if (layout.sizes[d] > 1 && strides[d] != layout.strides[d]) return false;
  return true;
}

at::Tensor tensor_of(c10::Storage storage, const Layout& layout, int64_t offset) {
  return tensor_over(std::move(storage), layout.dtype, layout.sizes, layout.strides, offset);
}

class Execution final : public TensorMemory {
 public:
  Execution(const CompiledGraph& graph, std::vector<at::Tensor> inputs)
      : plan_(*graph.linked), tensors_(plan_.buffers.size()), addresses_(plan_.buffers.size()) {
    const auto& places = graph.plan.inputs;
    TD_CHECK(inputs.size() == places.size(), graph.plan.name, " takes ", places.size(),
             " inputs, not ", inputs.size());
    for (size_t i = 0; i < places.size(); ++i)
      set(places[i], in_planned_memory(std::move(inputs[i]), graph.plan.buffers[places[i]]),
          addresses_.data());
    if (plan_.arena.empty()) return;  // one of no bytes holds tensors without elements
    arena_ = allocate_storage(plan_.arena_bytes, plan_.device.allocator);
    char* base = static_cast<char*>(arena_.mutable_data());
    for (auto [buffer, offset] : plan_.arena) addresses_[buffer] = base + offset;
  }

  void** addresses() { return addresses_.data(); }

  void* allocate(int buffer) override {
    const Layout& layout = plan_.buffers[buffer];
    tensors_[buffer] = tensor_of(allocate_storage(layout.bytes, plan_.device.allocator), layout, 0);
    return tensors_[buffer].storage().mutable_data();
  }

  void release(int buffer) override { tensors_[buffer].reset(); }

  void run_extern(int index, const ExternCall& step, void** addresses) override {
    const LinkedCall& call = plan_.calls[index];
    stack_ = call.stack;
    for (const auto& [slot, view] : call.tensors) stack_[slot] = tensor(view);
    for (const auto& list : call.lists) stack_[list.slot] = tensors(list);
    const c10::AutoGradMode mode(call.in_grad_mode || c10::GradMode::is_enabled());
    if (call.stand_in)
      call.stand_in(stack_);
    else
      call.op.callBoxed(stack_);
    size_t output = 0;
    for (c10::IValue& result : stack_) {
      if (result.isTensorList()) {
        for (const at::Tensor& t : result.toTensorVector()) receive(step, output++, t, addresses);
      } else {
        // Numbers were constants for the capture; none is an undefined tensor.
        receive(step, output++, result.isTensor() ? std::move(result).toTensor() : at::Tensor(),
                addresses);
      }
    }
    stack_.clear();
  }

  std::vector<at::Tensor> outputs() {
    std::vector<at::Tensor> outputs;
    outputs.reserve(plan_.outputs.size());
    for (const auto& view : plan_.outputs) outputs.push_back(view ? tensor(*view) : at::Tensor());
    return outputs;
  }

 private:
  // What a launch reads on the host is there, wherever a hook of the program put it.
  static at::Tensor in_planned_memory(at::Tensor tensor, const PlanBuffer& buffer) {
    const bool on_host = buffer.type.device.kind == Device::Kind::kCpu;
    return on_host && tensor.is_cuda() ? tensor.cpu() : tensor;
  }

  void set(int buffer, at::Tensor tensor, void** addresses) {
    // Weights in an order of oneDNN's own are for extern calls alone.
    void* address = tensor.is_mkldnn() ? nullptr : const_cast<void*>(tensor.const_data_ptr());
    const bool is_there = tensor.device() == plan_.device.device;
    if (is_there && reinterpret_cast<uintptr_t>(address) % plan_.device.alignment != 0)
      address = aligned_copy(tensor, plan_.buffers[buffer].bytes);
    addresses[buffer] = address;
    tensors_[buffer] = std::move(tensor);
  }

  // What kernels read in the place of a tensor whose address they cannot take. Extern calls and
  // results go on with the tensor itself.
  void* aligned_copy(const at::Tensor& tensor, int64_t bytes) {
    aligned_.push_back(allocate_storage(bytes, plan_.device.allocator));
    const at::Tensor to =
        tensor_over(aligned_.back(), caffe2::TypeMeta::Make<uint8_t>(), {bytes}, {1}, 0);
    to.copy_(bytes_of(tensor, bytes));
    return aligned_.back().mutable_data();
  }

  at::Tensor tensor(const View& view) const {
    const at::Tensor& base = tensors_[view.buffer];
    if (view.itself) return base;
    if (!base.defined()) {  // in the arena
      const auto* address = static_cast<const char*>(addresses_[view.buffer]);
      const auto* start = static_cast<const char*>(arena_.data());
      const int64_t item = static_cast<int64_t>(view.layout.dtype.itemsize());
      return tensor_of(arena_, view.layout, (address - start) / item + view.offset);
    }
    at::Tensor made = tensor_of(base.storage(), view.layout, base.storage_offset() + view.offset);
    if (!base.is_inference() && !made.is_inference())
      made.unsafeGetTensorImpl()->set_version_counter(
          base.unsafeGetTensorImpl()->version_counter());
    return made;
  }

  c10::IValue tensors(const LinkedCall::ListSlot& slot) const {
    if (!slot.optional) {
      c10::List<at::Tensor> list;
      for (const auto& view : slot.views) list.push_back(tensor(*view));
      return list;
    }
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& view : slot.views)
      list.push_back(view ? std::optional(tensor(*view)) : std::nullopt);
    return list;
  }

  // What the plan says about a result holds from here on: its type, its layout, and that the arena
  // is not in it.
  void receive(const ExternCall& step, size_t output, at::Tensor tensor, void** addresses) {
    TD_CHECK(output < step.outputs.size(), step.op, " returned too much");
    if (!step.outputs[output]) return;
    const int buffer = *step.outputs[output];
    const Layout& layout = plan_.buffers[buffer];
    TD_CHECK(tensor.defined() && tensor.dtype() == layout.dtype, step.op,
             " returned another type than planned");
    if (tensor.sizes() != c10::IntArrayRef(layout.sizes))
      throw aten_bridge::AssumptionFailed(step.op + " returned other sizes than at capture");
    const bool in_arena = arena_ && tensor.storage().is_alias_of(arena_);
    const bool lazy = tensor.is_conj() || tensor.is_neg();  // memory has no such bits
    if (in_arena || lazy || !has_layout(tensor, layout)) {
      at::Tensor copy = at::empty_strided(layout.sizes, layout.strides, tensor.options());
      copy.copy_(tensor);
      tensor = std::move(copy);
    }
    set(buffer, std::move(tensor), addresses);
  }

  const LinkedPlan& plan_;
  absl::InlinedVector<at::Tensor, 32> tensors_;  // one a buffer; none for the arena's
  absl::InlinedVector<void*, 32> addresses_;
  c10::Storage arena_{};
  std::vector<c10::Storage> aligned_;
  torch::jit::Stack stack_;
};

}  // namespace

std::vector<at::Tensor> run(const CompiledGraph& graph, std::vector<at::Tensor> inputs) {
  const c10::impl::ExcludeDispatchKeyGuard below(kBelowAutograd);
  TdContext context{parallel_for, nullptr, 0};
  c10::OptionalDeviceGuard guard;
  if (const c10::Device device = graph.linked->device.device; !device.is_cpu()) {
    guard.reset_device(device);
    context.device = device.index();
    context.stream = graph.linked->device.current_stream();
  }
  if (graph.linked->draws) check_draws(*graph.linked, inputs);
  Execution execution(graph, std::move(inputs));
  run_steps(graph.plan, graph.launchers, execution.addresses(), execution, context);
  return execution.outputs();
}

}  // namespace inductor
