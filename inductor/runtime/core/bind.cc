#include "inductor/runtime/core/bind.h"

#include <functional>

#include "aten_bridge/graph/generalize.h"

namespace inductor {
namespace {

using aten_bridge::for_each_size;
using VisitSize = aten_bridge::VisitSize;

void for_each(TensorRef& ref, const VisitSize& visit) {
  for (SymExpr& e : ref.sizes) visit(e);
  for (SymExpr& e : ref.strides) visit(e);
  visit(ref.offset);
}

void for_each(Launch& launch, const VisitSize& visit) {
  for (SymExpr& e : launch.sizes) visit(e);
  visit(launch.shape.blocks);
}

void for_each(ExternCall& call, const VisitSize& visit) {
  for (auto& [name, argument] : call.args) {
    for_each_size(argument, visit);
    if (auto* ref = std::get_if<TensorRef>(&argument)) for_each(*ref, visit);
    if (auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&argument))
      for (auto& ref : *list)
        if (ref) for_each(*ref, visit);
  }
}

void for_each(KernelPlan& plan, const VisitSize& visit) {
  for (PlanBuffer& buffer : plan.buffers) {
    for_each_size(buffer.type, visit);
    visit(buffer.offset);
  }
  for (auto& output : plan.outputs)
    if (output) for_each(*output, visit);
  for (Step& step : plan.steps) {
    if (auto* launch = std::get_if<Launch>(&step)) for_each(*launch, visit);
    if (auto* call = std::get_if<ExternCall>(&step)) for_each(*call, visit);
  }
  visit(plan.arena_bytes);
}

}  // namespace

bool has_symbols(const KernelPlan& plan) {
  bool found = false;
  for_each(const_cast<KernelPlan&>(plan), [&](SymExpr& e) { found |= !e.is_constant(); });
  return found;
}

KernelPlan bind(const KernelPlan& plan, const SymbolMap& sizes) {
  KernelPlan bound = plan;
  for_each(bound, [&](SymExpr& e) {
    if (!e.is_constant()) e = e.substitute(sizes);
  });
  return bound;
}

}  // namespace inductor
