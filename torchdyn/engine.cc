// The type-erased half of a compiled function: finds the variant that serves a call, or makes one.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <torch/nn/module.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/once.h"
#include "aten_bridge/base/process_exit.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/broken.h"
#include "torchdyn/compile.h"
#include "torchdyn/package/save.h"
#include "torchdyn/shortage.h"
#include "torchdyn/variant.h"

namespace torchdyn::internal {

bool capturing() { return aten_bridge::capturing(); }

void argument_was_assigned() {
  throw aten_bridge::CaptureError(
      "the function assigns to an argument that it gets by reference; return the new value "
      "instead");
}

// Defined, without a dispatcher's call: a trace may be under way.
at::Tensor placeholder() {
  static const auto& tensor = *new at::Tensor(at::detail::make_tensor<c10::TensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
      c10::Device(c10::kCPU)));
  return tensor;
}

namespace {
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
}  // namespace

struct Engine::Impl {
  Options options;
  // Newest first. Variants are added under the mutex and never removed: readers take no lock.
  std::atomic<Variant*> variants{nullptr};
  mutable std::mutex mutex;
  std::vector<std::string> recompile_reasons;
  mutable std::mutex refusals_mutex;
  std::map<std::string, std::string> refusals;  // by the key under which they are said once
  // What was short when a variant was to be made, and how many calls run in eager before that is
  // tried again: none, then 1, 2, 4, ...
  struct {
    std::string reason;
    int64_t calls = 0, next = 0;
  } pause;

  ~Impl() {
    for (Variant* v = variants; v != nullptr;) delete std::exchange(v, v->next);
  }

  Call gather(const Leaves& leaves) const;
  std::vector<std::string> names(const Call& call) const;
  // Variants that can still serve a call.
  int live() const noexcept;
  // The first of `from` and older ones whose guards hold.
  const Variant* find(const Call& call, const Variant* from) const;
  // From the newest one that serves the call and whose assumptions hold; `until`: those behind it
  // have been tried.
  std::optional<Answer> try_variants(const Call& call, const Variant* until, std::string& failure);
  void publish(std::unique_ptr<Variant> variant);
  // Said once a reason, or once a key where reasons vary.
  Answer eager(const std::string& reason, const std::string& key = "") const;
  // A call in eager that leaves no variant to tell of it.
  Answer refuse(const std::string& reason, const std::string& key);
  Answer put_off(const std::string& reason);
  Answer answer(const Variant& variant, const Call& call) const;
  // None, with the failure, where what capture assumed about values does not hold.
  std::optional<Answer> try_answer(const Variant& variant, const Call& call, std::string& failure);
  TracedVariant trace_call(const Call& call, const std::vector<std::string>& names, TraceRef trace,
                           const DynamicSizes* sizes) const;
  Answer make(const Call& call, TraceRef trace, const DynamicSizes* sizes,
              const std::string& failure);
};

Call Engine::Impl::gather(const Leaves& leaves) const {
  Call call{leaves, {}, {}};
  for (const torch::nn::Module* module : leaves.modules) call.state.add(*module);
  for (const State& state : options.state)
    if (state.module) call.state.add(*state.module);
  call.tensors.reserve(leaves.tensors.size() + call.state.tensors.size() + options.state.size());
  call.tensors = leaves.tensors;
  call.tensors.insert(call.tensors.end(), call.state.tensors.begin(), call.state.tensors.end());
  for (const State& state : options.state)
    if (state.tensor.defined()) call.tensors.push_back(state.tensor);
  return call;
}

// One name an input, duplicates left out.
std::vector<std::string> Engine::Impl::names(const Call& call) const {
  std::vector<std::string> all;
  std::vector<int> uses;
  for (int argument : call.leaves.tensor_arguments) {
    uses.resize(std::max<size_t>(uses.size(), argument + 1));
    const int use = uses[argument]++;
    all.push_back("arg" + std::to_string(argument) + (use ? "." + std::to_string(use) : ""));
  }
  auto append = [&](std::vector<std::string> more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (size_t i = 0; i < call.leaves.modules.size(); ++i)
    append(state_names(*call.leaves.modules[i],
                       "arg" + std::to_string(call.leaves.module_arguments[i])));
  for (size_t i = 0; i < options.state.size(); ++i)
    if (options.state[i].module)
      append(state_names(*options.state[i].module, "state" + std::to_string(i)));
  for (size_t i = 0; i < options.state.size(); ++i)
    if (options.state[i].tensor.defined()) all.push_back("state" + std::to_string(i));
  std::vector<std::string> inputs;
  for (int tensor : Duplicates::find(call.tensors).tensor_of) inputs.push_back(all[tensor]);
  return inputs;
}

int Engine::Impl::live() const noexcept {
  int count = 0;
  for (const Variant* v = variants; v != nullptr; v = v->next)
    count += v->host.is_current() && !v->is_replaced;
  return count;
}

const Variant* Engine::Impl::find(const Call& call, const Variant* from) const {
  for (const Variant* v = from; v != nullptr; v = v->next)
    if (v->matches(call)) return v;
  return nullptr;
}

std::optional<Answer> Engine::Impl::try_variants(const Call& call, const Variant* until,
                                                 std::string& failure) {
  const Variant* v = variants.load(std::memory_order_acquire);
  for (v = find(call, v); v != nullptr && v != until; v = find(call, v->next))
    if (auto answer = try_answer(*v, call, failure)) return answer;
  return std::nullopt;
}

std::optional<Answer> Engine::Impl::try_answer(const Variant& variant, const Call& call,
                                               std::string& failure) {
  try {
    return answer(variant, call);
  } catch (const aten_bridge::EagerRaises&) {
    return Answer{};
  } catch (const aten_bridge::LeftToEager& left) {
    return eager(left.what());
  } catch (const aten_bridge::AssumptionFailed& failed) {
    failure = failed.what();
    return std::nullopt;
  } catch (const aten_bridge::InternalError& error) {  // this call; the next one may go well
    return refuse(reason_of(error, options, variant.explanation.graphs.at(0).text), error.what());
  }
}

void Engine::Impl::publish(std::unique_ptr<Variant> variant) {
  variant->explanation.eager_reason = variant->eager_reason;
  variant->explanation.guards = variant->host.describe();
  if (variant->sizes) variant->explanation.guards.push_back(variant->sizes->describe());
  for (std::string& line : variant->inputs->describe())
    variant->explanation.guards.push_back(std::move(line));
  for (std::string& line : variant->frozen.describe())
    variant->explanation.guards.push_back(std::move(line));
  variant->next = variants.load(std::memory_order_relaxed);
  variants.store(variant.release(), std::memory_order_release);
}

Answer Engine::Impl::eager(const std::string& reason, const std::string& key) const {
  if (options.fullgraph) throw CaptureFailure(reason);
  aten_bridge::say_once(key.empty() ? reason : key, "a call runs in eager: " + reason);
  return {};
}

Answer Engine::Impl::refuse(const std::string& reason, const std::string& key) {
  {
    const std::lock_guard lock(refusals_mutex);
    refusals.emplace(key, reason);
  }
  return eager(reason, key);
}

Answer Engine::Impl::put_off(const std::string& reason) {
  pause.calls = options.fullgraph ? 0 : pause.next;
  pause.next = std::max<int64_t>(1, 2 * pause.next);
  pause.reason = reason;
  return refuse(reason, reason);
}

Answer Engine::Impl::answer(const Variant& variant, const Call& call) const {
  if (!variant.eager_reason.empty()) return eager(variant.eager_reason);
  Answer answer;
  answer.compiled = true;
  Program::Results results = variant.run(call);
  answer.tensors = std::move(results.tensors);
  answer.numbers = std::move(results.numbers);
  answer.prototype = variant.prototype.get();
  return answer;
}

// For any size, where the call names dynamic ones and the program is one for all of them; else for
// the call's sizes.
TracedVariant Engine::Impl::trace_call(const Call& call, const std::vector<std::string>& names,
                                       TraceRef trace, const DynamicSizes* sizes) const {
  std::string fixed_reason;
  if (sizes != nullptr) {
    auto guards = SizeGuards::make(*sizes, call.leaves);
    try {
      if (guards.ok())
        return trace_variant(guard_call(call, names, *std::move(guards)), call, names, trace,
                             options.numerics);
      fixed_reason = std::string(guards.status().message());
    } catch (const std::exception& error) {  // of this size or of another: the next capture tells
      if (is_shortage(error)) throw;
      fixed_reason = first_line(error.what());
    }
  }
  TracedVariant traced =
      trace_variant(guard_call(call, names), call, names, trace, options.numerics);
  traced.variant->explanation.fixed_reason = std::move(fixed_reason);
  return traced;
}

// No variant serves this call: make one, or say why not. The mutex is held.
// `failure`: the assumption that kept a variant from serving it; empty: guards did.
Answer Engine::Impl::make(const Call& call, TraceRef trace, const DynamicSizes* sizes,
                          const std::string& failure) {
  const aten_bridge::HoldOffExit hold;
  for (const torch::nn::Module* module : call.leaves.modules)
    if (module->weak_from_this().expired()) {
      const std::string reason =
          "module " + module->name() +
          " is not owned by a std::shared_ptr, so it cannot be told from a later one at the same "
          "address; make it with std::make_shared or a TORCH_MODULE holder";
      return refuse(reason, reason);
    }
  if (pause.calls > 0) {
    --pause.calls;
    return refuse(pause.reason, pause.reason);
  }
  std::string recompile_reason;
  if (const Variant* newest = variants) {
    const std::string reason = failure.empty() ? newest->why_not(call) : failure;
    // Calls of other threads hold handles: what they captured is captured anew with fewer.
    for (Variant* v = variants; v != nullptr; v = v->next)
      v->is_replaced |= failure.empty() && v->matches(call, /*with_handles=*/false);
    if (live() >= options.recompile_limit)
      return refuse("recompile_limit (" + std::to_string(options.recompile_limit) +
                        ") reached; the last recompile's reason: " + reason,
                    "recompile_limit of " + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
    recompile_reason = reason;
    if (reason.find("0-dimensional") != std::string::npos)
      aten_bridge::say_once(reason, "recompiling: " + reason);
  }
  const std::vector<std::string> input_names = names(call);
  std::unique_ptr<Variant> variant;
  const auto in_eager = [&](std::string reason) {
    variant = guard_call(call, input_names);
    variant->eager_reason = std::move(reason);
  };
  try {
    // A variant for any size whose run did not hold is not made again.
    TracedVariant traced = trace_call(call, input_names, trace, failure.empty() ? sizes : nullptr);
    if (options.freezing) freeze(traced, call, options.numerics);
    build_variants({&traced, 1}, options);
    variant = std::move(traced.variant);
  } catch (const aten_bridge::CaptureError& error) {
    in_eager(error.what());
  } catch (const aten_bridge::InternalError& error) {
    in_eager(reason_of(error, options));
  } catch (const std::exception& error) {
    if (is_shortage(error)) return put_off(std::string("short now: ") + first_line(error.what()));
    if (options.fullgraph) throw;
    // The program's own error, or LibTorch's about fakes: eager decides which.
    return {.unproven_reason = std::string("capture raised: ") + first_line(error.what())};
  } catch (...) {
    if (options.fullgraph) throw;
    return {.unproven_reason = "capture raised an exception"};
  }
  check_rejections(variant->explanation, options);
  const Variant& made = *variant;
  if (!recompile_reason.empty()) recompile_reasons.push_back(recompile_reason);
  publish(std::move(variant));
  pause = {};
  std::string changed;  // inputs have, since
  if (auto answer = try_answer(made, call, changed)) return *std::move(answer);
  return eager(changed);
}

Engine::Engine(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
}
Engine::~Engine() = default;

Answer Engine::call(Leaves& leaves, TraceRef trace, const DynamicSizes* sizes) {
  const Call call = impl_->gather(leaves);
  std::string failure;
  const Variant* newest = impl_->variants.load(std::memory_order_acquire);
  if (auto answer = impl_->try_variants(call, nullptr, failure)) return *std::move(answer);
  std::lock_guard lock(impl_->mutex);
  if (auto answer = impl_->try_variants(call, newest, failure)) return *std::move(answer);
  return impl_->make(call, trace, sizes, failure);
}

// An exception ended the trace but not the eager call: such calls stay in eager.
void Engine::eager_succeeded(Leaves& leaves, std::string reason) {
  const Call call = impl_->gather(leaves);
  std::lock_guard lock(impl_->mutex);
  if (impl_->find(call, impl_->variants)) return;
  std::unique_ptr<Variant> variant = guard_call(call, impl_->names(call));
  variant->eager_reason = std::move(reason);
  impl_->publish(std::move(variant));
}

Numerics Engine::numerics() const { return impl_->options.numerics; }

std::vector<VariantToSave> Engine::variants_to_save() const {
  std::vector<const Variant*> variants;  // oldest first
  {
    const std::lock_guard lock(impl_->mutex);
    for (const Variant* v = impl_->variants; v != nullptr; v = v->next)
      if (v->host.is_current() && !v->is_replaced) variants.insert(variants.begin(), v);
  }
  std::vector<VariantToSave> saved;
  for (const Variant* v : variants)
    saved.push_back(v->eager_reason.empty() ? with_state(*v, impl_->options)
                                            : VariantToSave{v, {}, {}});
  return saved;
}

Explanation Engine::explain() const {
  Explanation explanation;
  std::lock_guard lock(impl_->mutex);
  for (const Variant* v = impl_->variants; v != nullptr; v = v->next)
    explanation.variants.insert(explanation.variants.begin(), v->explain());
  explanation.recompile_reasons = impl_->recompile_reasons;
  const std::lock_guard refusals_lock(impl_->refusals_mutex);
  for (const auto& [key, reason] : impl_->refusals) explanation.refusals.push_back(reason);
  return explanation;
}

}  // namespace torchdyn::internal
