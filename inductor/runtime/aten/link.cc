#include <algorithm>

#include <ATen/Context.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "absl/strings/str_cat.h"

#include "aten_bridge/base/reads_grad_mode.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/aten/arguments.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/philox.h"
#include "inductor/runtime/aten/run.h"
#include "inductor/runtime/core/bind.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using RefList = std::vector<std::optional<TensorRef>>;

Layout layout_of(DType dtype, const std::vector<SymExpr>& sizes,
                 const std::vector<SymExpr>& strides) {
  Layout layout;
  for (const SymExpr& size : sizes) layout.sizes.push_back(size.as_constant());
  for (const SymExpr& stride : strides) layout.strides.push_back(stride.as_constant());
  layout.bytes = *span_bytes({dtype, {}, sizes, strides});
  const auto scalar_type = static_cast<c10::ScalarType>(aten_bridge::scalar_type_number(dtype));
  layout.dtype = c10::scalarTypeToTypeMeta(scalar_type);
  return layout;
}

View view_of(const KernelPlan& plan, const TensorRef& ref) {
  const PlanBuffer& buffer = plan.buffers[ref.buffer];
  const bool whole = ref.offset == SymExpr(0) && ref.sizes == buffer.type.sizes &&
                     ref.strides == buffer.type.strides;
  return {ref.buffer, whole && buffer.storage != Storage::kArena,
          layout_of(buffer.type.dtype, ref.sizes, ref.strides), ref.offset.as_constant()};
}

// "aten::add.Tensor" -> its handle.
std::optional<c10::OperatorHandle> find_operator(const std::string& op) {
  const size_t dot = op.find('.', op.find("::") + 2);
  const std::string overload = dot == op.npos ? "" : op.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema({op.substr(0, dot), overload});
}

absl::StatusOr<LinkedCall> link_call(const KernelPlan& plan, const ExternCall& call) {
  auto op = find_operator(call.op);
  if (!op) return absl::NotFoundError(str_cat("LibTorch has no operator ", call.op));
  const auto& parameters = op->schema().arguments();
  if (parameters.size() != call.args.size())
    return absl::InvalidArgumentError(
        str_cat(call.op, " takes ", parameters.size(), " arguments, not ", call.args.size()));
  LinkedCall linked{*op, std::vector<c10::IValue>(parameters.size()), {}, {}};
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& argument = call.args[i].second;
    if (auto* ref = std::get_if<TensorRef>(&argument)) {
      linked.tensors.push_back({i, view_of(plan, *ref)});
    } else if (auto* list = std::get_if<RefList>(&argument)) {
      const auto* type = parameters[i].type()->castRaw<c10::ListType>();
      LinkedCall::ListSlot slot{
          i, type && type->getElementType()->kind() == c10::TypeKind::OptionalType, {}};
      for (const auto& ref : *list)
        slot.views.push_back(ref ? std::optional(view_of(plan, *ref)) : std::nullopt);
      linked.lists.push_back(std::move(slot));
    } else {
      auto value = to_ivalue(argument, parameters[i].type());
      if (!value.ok())
        return absl::InvalidArgumentError(str_cat(call.op, ", ", parameters[i].name(), ": ",
                                                  std::string(value.status().message())));
      linked.stack[i] = *std::move(value);
    }
  }
  linked.in_grad_mode = aten_bridge::reads_grad_mode(call.op) && call.outputs.back().has_value();
  return linked;
}

void add_draw(const KernelPlan& plan, const LinkedCall& call, LinkedPlan& linked) {
  linked.draws = true;
  for (const auto& list : call.lists)
    for (const auto& view : list.views) {
      const auto input = std::find(plan.inputs.begin(), plan.inputs.end(), view->buffer);
      if (input != plan.inputs.end())
        linked.aligned.push_back(static_cast<int>(input - plan.inputs.begin()));
    }
}

// LibTorch's CUDA half registers its allocator when a program loads it; this library never does.
absl::StatusOr<PlanDevice> link_device(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return PlanDevice{c10::kCPU, c10::GetCPUAllocator(), 1};
  constexpr uintptr_t kVectorBytes = 16;
  const c10::Device cuda(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index));
  auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA));
  if (!allocator) return absl::FailedPreconditionError("LibTorch's CUDA library is not loaded");
  if (!allocator->initialized()) at::globalContext().lazyInitDevice(c10::kCUDA);
  return PlanDevice{cuda, allocator, kVectorBytes};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LinkedPlan>> link(const KernelPlan& plan) {
  if (has_symbols(plan)) return nullptr;
  auto linked = std::make_shared<LinkedPlan>();
  auto device = link_device(plan.device);
  if (!device.ok()) return device.status();
  linked->device = *device;
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    linked->buffers.push_back(layout_of(buffer.type.dtype, buffer.type.sizes, buffer.type.strides));
    if (buffer.storage == Storage::kArena)
      linked->arena.emplace_back(b, buffer.offset.as_constant());
  }
  linked->arena_bytes = plan.arena_bytes.as_constant();
  for (const Step& step : plan.steps) {
    const auto* call = std::get_if<ExternCall>(&step);
    if (!call) continue;
    auto linked_call = link_call(plan, *call);
    if (!linked_call.ok()) return linked_call.status();
    linked->calls.push_back(*std::move(linked_call));
    if (call->op == kPhiloxState) add_draw(plan, linked->calls.back(), *linked);
  }
  std::vector<bool> given(plan.buffers.size(), false);
  for (const auto& output : plan.outputs) {
    if (!output) {
      linked->outputs.emplace_back();
      continue;
    }
    View view = view_of(plan, *output);
    // An input, and what was returned already, is returned as a tensor of its own.
    view.itself =
        view.itself && !given[view.buffer] && plan.buffers[view.buffer].storage != Storage::kInput;
    if (view.itself) given[view.buffer] = true;
    linked->outputs.emplace_back(std::move(view));
  }
  return linked;
}

absl::StatusOr<std::shared_ptr<const CompiledGraph>> bind(const CompiledGraph& symbolic,
                                                          const SymbolMap& sizes) {
  auto bound = std::make_shared<CompiledGraph>(
      CompiledGraph{bind(symbolic.plan, sizes), symbolic.launchers, nullptr, {}});
  auto linked = link(bound->plan);
  if (!linked.ok()) return linked.status();
  bound->linked = *std::move(linked);
  return bound;
}

void* PlanDevice::current_stream() const {
  return c10::impl::getDeviceGuardImpl(device.type())->getStream(device).native_handle();
}

}  // namespace inductor
