#include "torchdyn/freeze.h"

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/constant_part.h"
#include "aten_bridge/graph/fold_affine.h"
#include "aten_bridge/graph/pack_weights.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/interpret.h"
#include "inductor/lowering/lowering.h"
#include "torchdyn/variant.h"

namespace torchdyn {
namespace {

using aten_bridge::ConstantPart;
using aten_bridge::ConstantValues;
using aten_bridge::Graph;

uint32_t version_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

const void* memory_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->storage().unsafeGetStorageImpl()->data();
}

// Of each input of the graph, whether the call gives it as a parameter or a buffer that the graph
// leaves as it is.
std::vector<bool> parameters(const TracedVariant& traced, const Call& call,
                             std::span<const at::Tensor> inputs) {
  std::vector<bool> is_parameter(traced.partition.forward.inputs().size(), false);
  const auto& input_of = traced.variant->duplicates.input_of;
  for (int tensor : call.leaves.parameters) is_parameter[input_of[tensor]] = true;
  for (size_t state = call.leaves.tensors.size(); state < call.tensors.size(); ++state)
    is_parameter[input_of[state]] = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_inference()) is_parameter[i] = false;
    for (const aten_bridge::Mutation& m : traced.captured.mutations)
      if (memory_of(inputs[m.input]) == memory_of(inputs[i])) is_parameter[i] = false;
  }
  return is_parameter;
}

// The constant with the sizes and strides that the graph says.
at::Tensor laid_out(const at::Tensor& constant, const aten_bridge::TensorType& type) {
  if (constant.is_mkldnn()) return constant;
  std::vector<int64_t> sizes, strides;
  for (const auto& size : type.sizes) sizes.push_back(size.as_constant());
  for (const auto& stride : type.strides) strides.push_back(stride.as_constant());
  TD_CHECK(constant.sizes() == at::IntArrayRef(sizes), "a constant of other sizes");
  if (constant.strides() == at::IntArrayRef(strides) && constant.storage_offset() == 0)
    return constant;
  return at::empty_strided(sizes, strides, constant.options()).copy_(constant);
}

// With constants moved to where they are computed once, or used faster.
Graph rewritten(const Graph& graph, const std::vector<bool>& is_constant) {
  const auto constants = [&](const Graph& g) {
    return ConstantValues(g, is_constant, inductor::recompute_of);
  };
  Graph folded = fold_affine(graph, constants(graph));
  if (!at::hasMKLDNN() || !at::globalContext().userEnabledMkldnn()) return folded;
  return pack_weights(folded, constants(folded));
}

std::vector<at::Tensor> compute(const Graph& constant, std::span<const at::Tensor> inputs) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values = aten_bridge::interpret(constant, {inputs.begin(), inputs.end()});
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = laid_out(values[i], constant.outputs()[i]->type());
  return values;
}

}  // namespace

FrozenTensors FrozenTensors::record(std::span<const at::Tensor> inputs,
                                    const std::vector<int>& which,
                                    const std::vector<std::string>& names) {
  FrozenTensors tensors;
  for (int input : which)
    tensors.frozen_.push_back(
        {input, c10::weak_intrusive_ptr<c10::TensorImpl>(inputs[input].getIntrusivePtr()),
         version_of(inputs[input]), memory_of(inputs[input]), names[input]});
  return tensors;
}

bool FrozenTensors::hold(std::span<const at::Tensor> inputs) const noexcept {
  for (const Frozen& frozen : frozen_) {
    const at::Tensor& now = inputs[frozen.input];
    if (now.unsafeGetTensorImpl() != frozen.tensor._unsafe_get_target() ||
        version_of(now) != frozen.version || memory_of(now) != frozen.memory)
      return false;
  }
  return true;
}

std::string FrozenTensors::explain_failure(std::span<const at::Tensor> inputs) const {
  for (const Frozen& frozen : frozen_) {
    const at::Tensor& now = inputs[frozen.input];
    const std::string name = "'" + frozen.name + "', a constant under freezing, was ";
    if (now.unsafeGetTensorImpl() != frozen.tensor._unsafe_get_target()) return name + "replaced";
    if (memory_of(now) != frozen.memory) return name + "given other memory";
    if (version_of(now) != frozen.version) return name + "changed in place";
  }
  return "";
}

std::vector<std::string> FrozenTensors::describe() const {
  if (frozen_.empty()) return {};
  return {std::to_string(frozen_.size()) + " parameters and buffers by version"};
}

void freeze(TracedVariant& traced, const Call& call, Numerics numerics) {
  if (traced.trains()) return;
  std::vector<at::Tensor> storage;
  const auto given = traced.variant->duplicates.inputs(call.tensors, storage);
  std::vector<at::Tensor> inputs(given.begin(), given.end());
  const std::vector<bool> is_constant = parameters(traced, call, inputs);
  Graph& forward = traced.partition.forward;
  if (numerics == Numerics::kDefault) forward = rewritten(forward, is_constant);
  ConstantPart part = take_constants(forward, is_constant, inductor::recompute_of);
  if (part.constant.outputs().empty()) return;

  std::vector<std::string> names;
  for (const auto& input : forward.inputs()) names.push_back(input.node->name);
  const auto& made = traced.captured.constants;  // by the callable: the last inputs
  inputs.insert(inputs.end(), made.begin(), made.end());
  traced.variant->frozen = FrozenTensors::record(inputs, part.used, names);
  std::vector<at::Tensor> values = compute(part.constant, inputs);
  traced.captured.joint.primals += static_cast<int>(values.size());
  for (at::Tensor& value : values) traced.captured.constants.push_back(std::move(value));
  forward = std::move(part.rest);
}

}  // namespace torchdyn
