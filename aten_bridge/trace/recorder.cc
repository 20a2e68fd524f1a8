#include "aten_bridge/trace/recorder.h"

#include <algorithm>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "absl/cleanup/cleanup.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/fake/infer.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/index_bounds.h"
#include "aten_bridge/trace/infer_from_parts.h"
#include "aten_bridge/trace/joined_decomposition.h"
#include "aten_bridge/trace/refusals.h"

namespace aten_bridge {
namespace {

using Boxed = std::span<const c10::IValue>;

std::span<c10::IValue> arguments_on(Stack& stack, const c10::OperatorHandle& op) {
  return std::span(stack).last(op.schema().arguments().size());
}

// LibTorch itself computes shapes on meta tensors; such calls are no part of the program.
bool is_shape_question(Boxed args, const std::string& op) {
  bool fakes = false, metas = false;
  for_each_tensor(args, [&](const at::Tensor& tensor) {
    if (is_fake(tensor)) {
      fakes = true;
    } else if (tensor.is_meta()) {
      metas = true;
    } else if (!tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      throw CaptureError(undeclared(op));
    }
  });
  for (const c10::IValue& arg : args) metas |= arg.isDevice() && arg.toDevice().is_meta();
  return metas && !fakes;
}

// Answers with a kernel for meta tensors. An operator that has none and changes an argument
// answers with that argument: what it does to shapes is asked again where it is recorded.
void answer_shape_question(const c10::OperatorHandle& op, const OperatorInfo& info,
                           c10::DispatchKeySet keys, Stack& stack) {
  const c10::impl::ExcludeDispatchKeyGuard below{c10::DispatchKeySet(c10::DispatchKey::Fake)};
  constexpr auto kBelow =
      c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake);
  if (!info.mutates) return op.redispatchBoxed(keys & kBelow, &stack);
  const auto args = arguments_on(stack, op);
  const Stack before(args.begin(), args.end());
  const size_t under = stack.size() - args.size();
  try {
    op.redispatchBoxed(keys & kBelow, &stack);
  } catch (const c10::NotImplementedError&) {
    stack.resize(under);
    const auto& specs = op.schema().arguments();
    for (size_t i = 0; i < specs.size(); ++i)
      if (specs[i].alias_info() && specs[i].alias_info()->isWrite()) stack.push_back(before[i]);
    stack.resize(under + op.schema().returns().size());
  }
}

std::vector<Argument> named_arguments(const c10::OperatorHandle& op, Boxed args) {
  const auto name_tensor = [](const at::Tensor& tensor) -> ArgumentValue {
    if (is_fake(tensor)) return value_of(tensor);
    return wrapped_number(tensor);
  };
  std::vector<Argument> arguments;
  const auto& specs = op.schema().arguments();
  arguments.reserve(specs.size());
  for (size_t i = 0; i < specs.size(); ++i)
    arguments.push_back({specs[i].name(), to_argument(args[i], specs[i], name_tensor)});
  return arguments;
}

// A factory without explicit dtype or device takes ambient defaults; the graph says which they
// were.
void spell_out_defaults(std::vector<Argument>& arguments, const TensorType& result) {
  for (Argument& argument : arguments) {
    if (std::holds_alternative<Value>(argument.value)) return;  // not a factory: "as self"
    if (!std::holds_alternative<std::monostate>(argument.value)) continue;
    if (argument.name == "dtype") argument.value = result.dtype;
    if (argument.name == "device") argument.value = result.device;
  }
}

// Storage offsets are absolute in ATen, and those of a graph's values are not known before it runs:
// an explicit one is kept only for a value that begins its storage.
void make_offset_relative(std::vector<Argument>& arguments, Boxed args, const std::string& op,
                          const ViewTable& views) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name != "storage_offset" || !args[i].isInt()) continue;
    const at::Tensor& self = args[0].toTensor();
    const Value value = value_of(self);
    if (args[i].toInt() == self.storage_offset()) {
      arguments[i].value = std::monostate();
    } else if (value.node->is_input() || views.root(value) != value) {
      throw CaptureError(str_cat(op, " reaches outside of a view"));
    }
  }
}

// A copy of a whole tensor into one like it is that tensor.
bool copies_nothing(const OperatorInfo& info, Boxed args) {
  if (info.name != "aten::copy" || !is_fake(args[0].toTensor()) || !is_fake(args[1].toTensor()))
    return false;
  const at::Tensor &self = args[0].toTensor(), &source = args[1].toTensor();
  return self.dtype() == source.dtype() && self.device() == source.device() &&
         self.sizes() == source.sizes() && self.strides() == source.strides();
}

}  // namespace

at::Tensor Recorder::add_input(const std::string& name, const at::Tensor& real) {
  const Value value = graph_.add_input(name, type_of(real));
  evaluator_.define(value, real);
  return make_fake(meta_twin_of_real(real), real.device(), value);
}

at::Tensor Recorder::add_input(const std::string& name, const TensorType& type) {
  return make_fake(meta_tensor(type), to_c10_device(type.device), graph_.add_input(name, type));
}

Value Recorder::root(const at::Tensor& fake) const { return views_.root(value_of(fake)); }

bool Recorder::is_converted(const at::Tensor& fake) const {
  return value_of(fake).node->op == "aten::_to_copy";
}

bool Recorder::has_parts(const OperatorInfo& info, const Stack& stack) {
  const Decomposition* row = info.decomposition;
  return row != nullptr && (row->applies == nullptr || row->applies(stack));
}

bool Recorder::comes_apart(const OperatorInfo& info) const {
  return numerics_ == Numerics::kDefault || info.decomposition->keeps_eagers_bits;
}

void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
  const OperatorInfo& info = operators_.of(op);
  if (is_shape_question(arguments_on(stack, op), info.name))
    return answer_shape_question(op, info, keys, stack);
  if (info.refusal) throw CaptureError(str_cat(info.name, " ", *info.refusal));
  if (info.lazy_bit != nullptr) return compute_lazily_set(*info.lazy_bit, stack);
  check_indices(info, arguments_on(stack, op));
  const bool has_parts = Recorder::has_parts(info, stack);
  if (has_parts && comes_apart(info)) {
    run_in_place_of(info, [&] { decompose(op, info, stack); });
  } else if (info.mutates) {
    throw CaptureError(str_cat(info.name, " changes a tensor behind functionalization"));
  } else if (info.reads == ReadsValues::kNumber) {
    read_number(stack);
  } else if (info.shape.exists() || info.reads == ReadsValues::kSizes) {
    record(op, info, stack);
  } else if (info.is_composite) {
    run_in_place_of(info, [&] {
      op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, stack);
    });
  } else if (has_parts) {
    record(op, info, stack);
  } else {
    throw CaptureError(str_cat(info.name, " has no shape rule yet"));
  }
}

// One that joined may call its own operator.
void Recorder::decompose(const c10::OperatorHandle& op, const OperatorInfo& info, Stack& stack) {
  const Decomposition* const row = info.decomposition;
  if (row->joined == nullptr) return row->replace(stack);
  if (std::find(decomposing_.begin(), decomposing_.end(), row) != decomposing_.end())
    throw CaptureError(str_cat("the decomposition of ", info.name, " calls ", info.name));
  std::optional<Inferred> expected;
  if (info.shape.exists()) expected = infer(op, info.shape, arguments_on(stack, op));
  decomposing_.push_back(row);
  const absl::Cleanup done = [&] { decomposing_.pop_back(); };
  run_joined(op.schema(), info.name, *row, expected, views_, stack);
}

std::optional<at::Tensor> Recorder::constant(const at::Tensor& fake) const {
  if (sizes_are_open_ || numerics_ == Numerics::kEager) return std::nullopt;
  return evaluator_.constant(value_of(fake));
}

void Recorder::read_number(Stack& stack) {
  const at::Tensor fake = torch::jit::pop(stack).toTensor();
  const at::Tensor real = evaluator_.value(value_of(fake));
  const c10::impl::ExcludeDispatchKeyGuard to_kernel(keys_down_to_fake());
  reads_.push_back({fake, aten_bridge::read_number(real)});
  stack.emplace_back(real.item());
}

// Decompositions make no indices of their own that are not inside.
void Recorder::check_indices(const OperatorInfo& info, Boxed args) {
  if (trusts_indices_ || !origin_.empty()) return;
  for (const IndexBounds& bounds : index_bounds(info.name, args)) {
    if (!is_fake(bounds.index)) continue;
    const Value index = value_of(bounds.index);
    if (!checked_.emplace(index, bounds.size, bounds.wraps, bounds.ignored).second) continue;
    run_in_place_of(info, [&] { reads_.push_back({are_inside(bounds), true, /*raises=*/true}); });
  }
}

// The results' types are those of the results on the real tensors.
Inferred Recorder::infer_from_values(const c10::OperatorHandle& op, Boxed args) {
  Inferred inferred{evaluator_.call(op, {args.begin(), args.end()}), {}};
  map_tensors(inferred.results, [&](const at::Tensor& real) {
    inferred.devices.push_back(to_device(real.device()));
    return meta_tensor(type_of(real));
  });
  return inferred;
}

Inferred Recorder::infer_results(const c10::OperatorHandle& op, const OperatorInfo& info,
                                 Boxed args) {
  if (info.reads == ReadsValues::kSizes) return infer_from_values(op, args);
  return info.shape.exists() ? infer(op, info.shape, args)
                             : infer_from_parts(*info.decomposition, args);
}

void Recorder::run_in_place_of(const OperatorInfo& info, absl::FunctionRef<void()> run) {
  const c10::impl::ExcludeDispatchKeyGuard back_to_fake(keys_above_fake());
  run_as(info.name, run);
}

void Recorder::run_as(std::string_view op, absl::FunctionRef<void()> run) {
  const bool outermost = origin_.empty();
  if (outermost) origin_ = op;
  const absl::Cleanup restore = [&] {
    if (outermost) origin_.clear();
  };
  run();
}

void Recorder::record(const c10::OperatorHandle& op, const OperatorInfo& info, Stack& stack) {
  const auto args = arguments_on(stack, op);
  std::vector<c10::IValue> results;
  if (copies_nothing(info, args)) {
    results = {args[1]};
  } else {
    Inferred inferred = infer_results(op, info, args);
    results = std::move(inferred.results);
    std::vector<Value> values = info.is_view ? known_views(args, results) : std::vector<Value>();
    if (values.empty()) values = add_node(op, info, args, results, inferred.devices);
    auto next = values.begin();
    map_tensors(results, [&](const at::Tensor& twin) {
      const Value value = *next++;
      return make_fake(twin, to_c10_device(value.type().device), value);
    });
  }
  if (info.reads == ReadsValues::kSizes) reads_.push_back({results[0].toTensor(), std::nullopt});
  torch::jit::drop(stack, args.size());
  for (c10::IValue& result : results) stack.push_back(std::move(result));
}

void Recorder::compute_lazily_set(const LazyBit& lazy_bit, Stack& stack) {
  met_lazy_views_ |= lazy_bit.is_view;
  const c10::OperatorHandle op = find_operator(lazy_bit.computes);
  run_as(lazy_bit.op, [&] { record(op, operators_.of(op), stack); });
}

std::vector<Value> Recorder::known_views(Boxed args, const std::vector<c10::IValue>& twins) const {
  std::vector<Value> values;
  for (const at::Tensor& twin : flatten(twins)) {
    const std::optional<Value> known = views_.find(args[0].toTensor(), twin);
    if (!known) return {};
    values.push_back(*known);
  }
  return values;
}

std::vector<Value> Recorder::add_node(const c10::OperatorHandle& op, const OperatorInfo& info,
                                      Boxed args, const std::vector<c10::IValue>& results,
                                      std::span<const Device> devices) {
  const std::vector<at::Tensor> twins = flatten(results);
  std::vector<std::optional<TensorType>> types;
  types.reserve(twins.size());
  for (const at::Tensor& twin : twins) {
    types.push_back(twin.defined() ? std::optional(type_of(twin, devices.front())) : std::nullopt);
    if (twin.defined()) devices = devices.subspan(1);
  }
  std::vector<Argument> arguments = named_arguments(op, args);
  if (!types.empty() && types[0]) spell_out_defaults(arguments, *types[0]);
  make_offset_relative(arguments, args, info.name, views_);
  Node* node = graph_.add(info.name, std::move(arguments), std::move(types),
                          origin_.empty() ? info.name : origin_);
  draws_ |= info.draws && dropout_of(*node) != 0;
  std::vector<Value> values;
  for (size_t i = 0; i < twins.size(); ++i) {
    if (!twins[i].defined()) continue;
    values.push_back(node->output(static_cast<int>(i)));
    if (info.is_view) views_.add(args[0].toTensor(), twins[i], values.back());
  }
  return values;
}

Graph Recorder::finish(const std::vector<at::Tensor>& outputs) && {
  std::vector<std::optional<Value>> values;
  for (const at::Tensor& output : outputs)
    values.push_back(output.defined() ? std::optional(value_of(output)) : std::nullopt);
  graph_.set_outputs(std::move(values));
  graph_.remove_dead([](const Node& node) {
    return node.outputs.empty() || draws_random_numbers(find_operator(node.op));
  });
  return std::move(graph_);
}

}  // namespace aten_bridge
