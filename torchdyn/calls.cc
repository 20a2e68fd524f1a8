#include "torchdyn/calls.h"

#include <stdexcept>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/process_exit.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/shortage.h"
#include "torchdyn/variant.h"

namespace torchdyn {
namespace {

using Tensors = std::vector<at::Tensor>;

internal::Leaves leaves_of(const Tensors& tensors) {
  internal::Leaves leaves;
  for (const at::Tensor& t : tensors) {
    leaves.tensor(t);
    ++leaves.argument;
  }
  return leaves;
}

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (int tensor : Duplicates::find(tensors).tensor_of)
    names.push_back("x" + std::to_string(tensor));
  return names;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

TracedVariant trace_or_say_why(const CallToCompile& to_compile, Numerics numerics) {
  const internal::Leaves leaves = leaves_of(to_compile.tensors);
  const Call call{leaves, {}, to_compile.tensors};
  const std::vector<std::string> names = names_of(to_compile.tensors);
  const auto in_eager = [&](std::string reason) {
    TracedVariant failed;
    failed.variant = guard_call(call, names);
    failed.variant->eager_reason = std::move(reason);
    return failed;
  };
  std::optional<SizeGuards> sizes;
  if (to_compile.sizes) {
    auto guards = SizeGuards::make(*to_compile.sizes, leaves);
    if (!guards.ok()) return in_eager(std::string(guards.status().message()));
    sizes = *std::move(guards);
  }
  try {
    return trace_variant(guard_call(call, names, std::move(sizes)), call, names, to_compile.trace,
                         numerics);
  } catch (const aten_bridge::CaptureError& error) {
    return in_eager(error.what());
  } catch (const aten_bridge::InternalError& error) {
    return in_eager(std::string("internal error: ") + error.what());
  } catch (const std::exception& error) {
    return in_eager("capture raised: " + first_line(error.what()));
  }
}

void build_or_say_why(std::span<TracedVariant> traced, Numerics numerics,
                      inductor::OnFault on_fault) {
  std::string reason;
  try {
    Options options;
    options.numerics = numerics;
    build_variants(traced, options, on_fault);
    if (traced.size() == 1 || traced[0].variant->eager_reason.empty()) return;
  } catch (const std::exception& error) {
    reason = is_shortage(error) ? error.what() : std::string("internal error: ") + error.what();
  }
  for (TracedVariant& one : traced) one.variant->eager_reason = reason;
  if (traced.size() == 1) return;
  for (TracedVariant& one : traced) one.variant->eager_reason.clear();
  build_or_say_why(traced.first(traced.size() / 2), numerics, on_fault);
  build_or_say_why(traced.subspan(traced.size() / 2), numerics, on_fault);
}

}  // namespace

CompiledCall::CompiledCall(std::unique_ptr<Variant> variant) : variant_(std::move(variant)) {}
CompiledCall::~CompiledCall() = default;

Tensors CompiledCall::operator()(const Tensors& tensors) const {
  if (!variant_->eager_reason.empty()) throw std::runtime_error(variant_->eager_reason);
  const internal::Leaves leaves = leaves_of(tensors);
  const Call call{leaves, {}, tensors};
  if (!variant_->matches(call))
    throw std::runtime_error("compiled for other tensors: " + variant_->why_not(call));
  return variant_->run(call).tensors;
}

size_t CompiledCall::tensor_count() const { return variant_->duplicates.input_of.size(); }
const std::string& CompiledCall::eager_reason() const { return variant_->eager_reason; }
Explanation::Variant CompiledCall::explanation() const { return variant_->explain(); }

std::vector<std::unique_ptr<CompiledCall>> compile_calls(std::span<const CallToCompile> calls,
                                                         Numerics numerics,
                                                         inductor::OnFault on_fault) {
  const aten_bridge::HoldOffExit hold;
  std::vector<TracedVariant> traced;
  std::vector<std::unique_ptr<CompiledCall>> compiled(calls.size());
  std::vector<size_t> places;
  for (size_t i = 0; i < calls.size(); ++i) {
    TracedVariant one = trace_or_say_why(calls[i], numerics);
    if (!one.variant->eager_reason.empty()) {
      compiled[i] = std::make_unique<CompiledCall>(std::move(one.variant));
      continue;
    }
    traced.push_back(std::move(one));
    places.push_back(i);
  }
  if (!traced.empty()) build_or_say_why(traced, numerics, on_fault);
  for (size_t i = 0; i < traced.size(); ++i)
    compiled[places[i]] = std::make_unique<CompiledCall>(std::move(traced[i].variant));
  return compiled;
}

}  // namespace torchdyn
