#include "aten_bridge/fake/infer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/fake/meta_kernels.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"

namespace aten_bridge {
namespace {

Inferred infer_by_rule(const c10::OperatorHandle& op, const ShapeRule& rule,
                       std::span<const c10::IValue> args) {
  Inferred inferred;
  const auto types = rule.types(args);
  const auto& returns = op.schema().returns();
  if (returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType) {
    c10::List<at::Tensor> list;
    for (const auto& type : types) {
      list.push_back(meta_tensor(*type));
      inferred.devices.push_back(type->device);
    }
    inferred.results.emplace_back(std::move(list));
    return inferred;
  }
  TD_CHECK(types.size() == returns.size(), "the shape rule of ", rule.op);
  for (size_t i = 0; i < types.size(); ++i) {
    if (returns[i].type()->kind() != c10::TypeKind::TensorType) {
      TD_CHECK(rule.number != nullptr, "the shape rule of ", rule.op, " lacks numbers");
      inferred.results.emplace_back(rule.number(args, static_cast<int>(i)));
    } else if (types[i]) {
      inferred.results.emplace_back(meta_tensor(*types[i]));
      inferred.devices.push_back(types[i]->device);
    } else {
      inferred.results.emplace_back(at::Tensor());
    }
  }
  return inferred;
}

Inferred infer_by_meta_kernel(const c10::OperatorHandle& op, c10::DispatchKey key,
                              std::span<const c10::IValue> args) {
  Inferred inferred{call_meta_kernel(op, key, args), {}};
  const Device device = result_device(args);
  for_each_tensor(inferred.results, [&](const at::Tensor&) { inferred.devices.push_back(device); });
  return inferred;
}

}  // namespace

ShapeSource find_shape_source(const c10::OperatorHandle& op) {
  const std::string name = name_of(op);
  if (has_registered_fake(op)) return {.meta_kernel = c10::DispatchKey::Meta};
  ShapeSource source{find_shape_rule(name)};
  if (source.rule == nullptr && meta_kernel_is_tested(name))
    source.meta_kernel = meta_kernel_key(op);
  return source;
}

Inferred infer(const c10::OperatorHandle& op, const ShapeSource& source,
               std::span<const c10::IValue> args) {
  TD_CHECK(source.exists(), "a shape source of ", name_of(op));
  return source.rule != nullptr ? infer_by_rule(op, *source.rule, args)
                                : infer_by_meta_kernel(op, source.meta_kernel, args);
}

Device result_device(std::span<const c10::IValue> args) {
  for (const c10::IValue& arg : args)
    if (arg.isDevice()) return to_device(arg.toDevice());
  std::optional<Device> device;
  bool decided = false;  // a zero-dimensional CPU tensor mixes with any device
  for_each_tensor(args, [&](const at::Tensor& tensor) {
    if (decided || !is_fake(tensor)) return;
    device = to_device(tensor.device());
    decided = tensor.dim() > 0 || !tensor.is_cpu();
  });
  return device.value_or(Device{});
}

}  // namespace aten_bridge
