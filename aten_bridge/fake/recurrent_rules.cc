// Recurrent layers that a library runs whole. Its kernel alone knows how large a workspace it keeps
// for backward, so the kernel is asked: it runs once, on zeros.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"

namespace aten_bridge {
namespace {

Types on_zeros(std::string_view op, Arguments fakes) {
  const c10::impl::ExcludeDispatchKeyGuard to_kernel(keys_down_to_fake());
  std::vector<c10::IValue> args(fakes.begin(), fakes.end());
  map_tensors(std::span(args), [](const at::Tensor& fake) {
    return at::empty_strided(fake.sizes(), fake.strides(), fake.options()).zero_();
  });
  find_operator(op).callBoxed(&args);
  Types types;
  for (const c10::IValue& result : args)
    types.push_back(result.isTensor() && result.toTensor().defined()
                        ? std::optional(type_of(result.toTensor()))
                        : std::nullopt);
  return types;
}

Types mkldnn_rnn_layer(Arguments a) { return on_zeros("aten::mkldnn_rnn_layer", a); }

Types mkldnn_rnn_layer_backward(Arguments a) {
  return on_zeros("aten::mkldnn_rnn_layer_backward", a);
}

constexpr ShapeRule kRules[] = {
    {"aten::mkldnn_rnn_layer", mkldnn_rnn_layer},
    {"aten::mkldnn_rnn_layer_backward", mkldnn_rnn_layer_backward},
};

}  // namespace

std::span<const ShapeRule> recurrent_rules() { return kRules; }

}  // namespace aten_bridge
