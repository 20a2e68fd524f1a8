#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/convert.h"
#include "torchdyn/package/loaded_package.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

Verdict is_plain(const at::Tensor& t, int argument) {
  if (!t.defined()) return Verdict::no(str_cat("input ", argument, " is undefined"));
  if (t.layout() == c10::kStrided && !t.is_conj() && !t.is_neg() && t.has_storage())
    return Verdict::yes();
  return Verdict::no(str_cat("input ", argument, " is no plain tensor"));
}

// A call that changes an input reads no other one's memory for it.
Verdict are_apart(const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (inputs[i].is_alias_of(inputs[j]))
        return Verdict::no("inputs share memory, and the function changes one");
  return Verdict::yes();
}

// What one call runs with.
struct Bound {
  std::vector<int64_t> sizes;  // s0, s1, ...
  std::vector<at::Tensor> inputs;
};

// Whether a variant takes the arguments; then `bound` is what it runs with.
Verdict takes(const LoadedVariant& variant, const std::vector<at::Tensor>& arguments,
              Bound& bound) {
  const PackagedVariant& v = variant.described;
  std::vector<TensorType> types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (auto plain = is_plain(arguments[i], static_cast<int>(i)); !plain) return plain;
    types.push_back(aten_bridge::type_of(arguments[i]));
  }
  if (auto fits = check_arguments(v, types, bound.sizes); !fits) return fits;
  bound.inputs = variant.weights;
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    const PackagedInput& input = v.inputs[i];
    if (!input.argument) continue;
    const at::Tensor& t = arguments[*input.argument];
    const bool loses_gradient = c10::GradMode::is_enabled() && t.requires_grad();
    if (loses_gradient && !(v.trains && input.requires_grad))
      return Verdict::no(str_cat("input ", *input.argument, " (", input.name,
                                 ") requires a gradient, and did not when it was saved"));
    bound.inputs[i] = t;
  }
  return v.mutations.empty() ? Verdict::yes() : are_apart(bound.inputs);
}

}  // namespace

std::vector<at::Tensor> call(const LoadedMethod& method, const std::vector<at::Tensor>& arguments) {
  constexpr std::string_view kNothing = "the package is empty";
  std::string reason(kNothing);
  // Those that were captured with gradients on, or off, as they are now, come first.
  for (const bool as_now : {true, false}) {
    for (const LoadedVariant& variant : method.variants) {
      if ((variant.described.grad_mode == c10::GradMode::is_enabled()) != as_now) continue;
      Bound bound;
      if (auto fits = takes(variant, arguments, bound); !fits) {
        if (as_now || reason == kNothing) reason = fits.reason();
        continue;
      }
      try {
        return variant.program->run(bound.sizes, bound.inputs).tensors;
      } catch (const aten_bridge::EagerRaises& error) {
        throw PackageError(error.what());
      } catch (const aten_bridge::AssumptionFailed& error) {
        reason = error.what();
      }
    }
  }
  throw PackageError(reason);
}

std::vector<at::Tensor> Package::operator()(const std::vector<at::Tensor>& arguments) const {
  return torchdyn::call(find(*impl_, kMainMethod), arguments);
}

std::vector<at::Tensor> Package::call(const std::string& method,
                                      const std::vector<at::Tensor>& arguments) const {
  return torchdyn::call(find(*impl_, method), arguments);
}

}  // namespace torchdyn
