#include "inductor/runtime/aten/drawing_operators.h"

#include <utility>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/philox.h"
#include "inductor/runtime/aten/tensor_over.h"

namespace inductor {
namespace {

at::Tensor unkept(const at::Tensor& t) {
  return tensor_like(storage_over(t.storage(), nullptr), t);
}

c10::IValue unkept(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) return unkept(value.toTensor());
  TORCH_CHECK(!value.isList() || !value.isTensorList(), "an operator that draws takes a list");
  return value;
}

}  // namespace

// Attention draws where its dropout is not 0; cuDNN's asks the generator without it, too.
bool DrawingOperators::is_one(const LinkedCall& call) {
  const std::string& name = call.op.schema().name();
  if (!call.op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  if (name == kPhiloxState || name.ends_with("_backward")) return false;
  const auto p = call.op.schema().argumentIndexWithName("dropout_p");
  return !p || call.stack[*p].toDouble() != 0 ||
         name == "aten::_scaled_dot_product_cudnn_attention";
}

DrawingOperators::DrawingOperators(const CompiledGraph& graph) : linked_(graph.linked) {
  size_t index = 0;
  for (const Step& step : graph.plan.steps) {
    const auto* call = std::get_if<ExternCall>(&step);
    if (!call) continue;
    if (is_one(linked_->calls[index])) {
      Operator op{index, {}, {}, {}};
      for (const auto& output : call->outputs) op.outputs.push_back(output.value_or(-1));
      operators_.push_back(std::move(op));
    }
    ++index;
  }
}

void DrawingOperators::stand_in(LinkedPlan& linked, GraphPool& pool) {
  for (Operator& op : operators_)
    linked.calls[op.call].stand_in = [this, &op, &linked, &pool](std::vector<c10::IValue>& stack) {
      pool.cut(linked.device.current_stream());
      record(op, stack, linked);
    };
}

void DrawingOperators::record(Operator& op, std::vector<c10::IValue>& stack,
                              const LinkedPlan& linked) const {
  for (const c10::IValue& argument : stack) op.stack.push_back(unkept(argument));
  stack.clear();
  for (int buffer : op.outputs) {
    at::Tensor made;
    if (buffer >= 0) {
      const Layout& layout = linked.buffers[static_cast<size_t>(buffer)];
      made = tensor_over(allocate_storage(layout.bytes, linked.device.allocator), layout.dtype,
                         layout.sizes, layout.strides, 0);
    }
    op.places.push_back(made.defined() ? unkept(made) : made);
    stack.emplace_back(std::move(made));
  }
}

void DrawingOperators::run(size_t index) const {
  const Operator& op = operators_[index];
  const LinkedCall& call = linked_->calls[op.call];
  const c10::impl::ExcludeDispatchKeyGuard below(kBelowAutograd);
  const c10::AutoGradMode mode(call.in_grad_mode || c10::GradMode::is_enabled());
  std::vector<c10::IValue> stack = op.stack;
  call.op.callBoxed(stack);
  for (size_t i = 0; i < op.places.size(); ++i)
    if (op.places[i].defined()) at::Tensor(op.places[i]).copy_(stack[i].toTensor());
}

}  // namespace inductor
