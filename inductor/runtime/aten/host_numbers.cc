#include "inductor/runtime/aten/host_numbers.h"

#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/aten/drawing_operators.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/philox.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using aten_bridge::Verdict;

bool is_on_host(const PlanBuffer& buffer) { return buffer.type.device.kind == Device::Kind::kCpu; }

// A kernel that is enqueued and then marked.
struct MarkingLauncher {
  Launcher kernel;
  GraphPool* pool;

  static void launch(const void* self, const LaunchArguments& arguments, const TdContext* context) {
    const auto& marking = *static_cast<const MarkingLauncher*>(self);
    marking.kernel.function(marking.kernel.self, arguments, context);
    marking.pool->mark_kernel(
        context->stream, arguments.buffer_count + arguments.size_count + arguments.value_count);
  }
};

bool takes_numbers(const Launch& launch) {
  return !launch.values.empty() && launch.shape.blocks.as_constant() > 0;
}

template <class Visit>
void for_each_buffer(const ExternCall& call, const Visit& visit) {
  for (const auto& [name, argument] : call.args) {
    if (auto* ref = std::get_if<TensorRef>(&argument)) visit(ref->buffer);
    if (auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&argument))
      for (const auto& ref : *list)
        if (ref) visit(ref->buffer);
  }
  for (const auto& output : call.outputs)
    if (output) visit(*output);
}

}  // namespace

Verdict HostNumbers::can_give(const CompiledGraph& graph) {
  const KernelPlan& plan = graph.plan;
  for (const PlanBuffer& buffer : plan.buffers)
    if (buffer.type.device != plan.device && !is_on_host(buffer))
      return Verdict::no(str_cat(buffer.name, " is on another device"));
  for (const Step& step : plan.steps) {
    const auto* call = std::get_if<ExternCall>(&step);
    if (!call || call->op == kPhiloxState) continue;
    std::string reason;
    for_each_buffer(*call, [&](int b) {
      if (is_on_host(plan.buffers[b]))
        reason = str_cat(call->op, " takes or makes ", plan.buffers[b].name, " on the host");
    });
    if (!reason.empty()) return Verdict::no(std::move(reason));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i)
    if (plan.outputs[i] && is_on_host(plan.buffers[plan.outputs[i]->buffer]) &&
        !graph.linked->outputs[i]->itself)
      return Verdict::no("a part of what is on the host is returned");
  return Verdict::yes();
}

HostNumbers::HostNumbers(const CompiledGraph& graph)
    : linked_(graph.linked), buffers_(graph.plan.buffers.size()) {
  const KernelPlan& plan = graph.plan;
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (is_on_host(plan.buffers[plan.inputs[i]])) given_.push_back({i, plan.inputs[i]});
  size_t calls = 0;
  pieces_.emplace_back();
  for (const Step& step : plan.steps) {
    if (const auto* call = std::get_if<ExternCall>(&step)) {
      if (DrawingOperators::is_one(linked_->calls[calls])) pieces_.emplace_back();
      if (call->op == kPhiloxState) pieces_.back().drawn.push_back({calls, *call->outputs[0]});
      ++calls;
    } else if (const auto* launch = std::get_if<Launch>(&step)) {
      if (takes_numbers(*launch)) pieces_.back().taken.push_back(launch->values);
    }
  }
  for (const auto& output : plan.outputs)
    outputs_.push_back(output && is_on_host(plan.buffers[output->buffer]) ? output->buffer : -1);
}

void HostNumbers::to_record(CompiledGraph& graph, LinkedPlan& linked, GraphPool& pool) const {
  linked.draws = false;
  for (const Piece& piece : pieces_)
    for (const Drawn& drawn : piece.drawn)
      linked.calls[drawn.call].stand_in = [](std::vector<c10::IValue>& stack) {
        stack = {at::Tensor(at::detail::empty_cpu({2}, at::kLong)).zero_()};
      };
  size_t kernel = 0;
  for (const Step& step : graph.plan.steps) {
    const auto* launch = std::get_if<Launch>(&step);
    if (!launch) continue;
    Launcher& launcher = graph.launchers[kernel++];
    if (!takes_numbers(*launch)) continue;
    auto marking = std::make_shared<const MarkingLauncher>(MarkingLauncher{launcher, &pool});
    launcher = {MarkingLauncher::launch, marking.get(), marking};
  }
}

HostNumbers::Tensors HostNumbers::of_call(const Tensors& inputs) const {
  if (linked_->draws) check_draws(*linked_, inputs);
  Tensors numbers(buffers_);
  for (const auto& [input, buffer] : given_) numbers[buffer] = inputs[input].cpu();
  return numbers;
}

void HostNumbers::give(size_t piece, Tensors& numbers, RecordedGraph& recorded) const {
  for (const auto& [index, buffer] : pieces_[piece].drawn) {
    const LinkedCall& call = linked_->calls[index];
    std::vector<c10::IValue> stack = call.stack;
    for (const auto& list : call.lists) stack[list.slot] = c10::List<at::Tensor>();  // not read
    call.op.callBoxed(stack);
    numbers[buffer] = std::move(stack[0]).toTensor();
  }
  size_t kernel = 0;
  for (const std::vector<int>& taken : pieces_[piece].taken) {
    absl::InlinedVector<void*, 4> values;
    for (int buffer : taken) values.push_back(const_cast<void*>(numbers[buffer].const_data_ptr()));
    recorded.set_values(kernel++, values);
  }
}

}  // namespace inductor
