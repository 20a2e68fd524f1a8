#include "inductor/runtime/aten/philox.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/_fused_dropout.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "aten_bridge/base/assumption.h"
#include "inductor/runtime/aten/linked_plan.h"

namespace inductor {
namespace {

using aten_bridge::LeftToEager;

constexpr uint64_t kNumbersOfACall = 4;  // an offset counts numbers

at::Tensor philox_state(int64_t increment, at::TensorList /*aligned*/, c10::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  at::Tensor state(at::detail::empty_cpu({2}, at::kLong));
  auto* words = state.mutable_data_ptr<int64_t>();
  const std::scoped_lock lock(generator.mutex());
  const uint64_t offset = generator.get_offset();
  words[0] = static_cast<int64_t>(generator.current_seed());
  words[1] = static_cast<int64_t>(offset / kNumbersOfACall);
  // By another handle of the same state: one that is told an offset lets cuDNN's dropout start
  // anew.
  generator.graphsafe_get_state().set_offset(offset + static_cast<uint64_t>(increment));
  return state;
}

at::Generator generator_at(const at::Tensor& state, c10::Device device) {
  const auto* words = state.const_data_ptr<int64_t>();
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(static_cast<uint64_t>(words[0]));
  generator.set_offset(static_cast<uint64_t>(words[1]) * kNumbersOfACall);
  return generator;
}

// ATen's kernel is asked for the mask of a tensor whose dtype and strides make it choose `vector`.
at::Tensor philox_dropout(const at::Tensor& state, at::IntArrayRef size, double keep,
                          int64_t vector, int64_t /*threads*/, c10::Device device) {
  const auto dtype = vector == 8 ? at::kHalf : vector == 2 ? at::kDouble : at::kFloat;
  const auto options = at::TensorOptions(dtype).device(device);
  const at::Tensor values =
      vector > 1 ? at::empty(size, options) : at::empty({}, options).expand(size);
  return std::get<1>(at::_fused_dropout(values, keep, generator_at(state, device))).to(at::kBool);
}

at::Tensor empty(at::IntArrayRef size, at::ScalarType dtype, c10::Device device) {
  return at::empty(size, at::TensorOptions(dtype).device(device));
}
at::Tensor philox_bernoulli(const at::Tensor& state, at::IntArrayRef size, double p,
                            int64_t /*threads*/, at::ScalarType dtype, c10::Device device) {
  return empty(size, dtype, device).bernoulli_(p, generator_at(state, device));
}
at::Tensor philox_uniform(const at::Tensor& state, at::IntArrayRef size, double low, double high,
                          int64_t /*threads*/, at::ScalarType dtype, c10::Device device) {
  return empty(size, dtype, device).uniform_(low, high, generator_at(state, device));
}
at::Tensor philox_normal(const at::Tensor& state, at::IntArrayRef size, double mean, double std,
                         int64_t /*threads*/, at::ScalarType dtype, c10::Device device) {
  return empty(size, dtype, device).normal_(mean, std, generator_at(state, device));
}

TORCH_LIBRARY(torchdyn, library) {
  constexpr auto kKey = c10::DispatchKey::CompositeExplicitAutograd;
  library.def("philox_state(int increment, Tensor[] aligned, Device device) -> Tensor",
              {at::Tag::nondeterministic_seeded});
  library.impl("philox_state", kKey, TORCH_FN(philox_state));
  library.def(
      "philox_dropout(Tensor state, int[] size, float keep, int vector, int threads, "
      "Device device) -> Tensor");
  library.impl("philox_dropout", kKey, TORCH_FN(philox_dropout));
  library.def(
      "philox_bernoulli(Tensor state, int[] size, float p, int threads, ScalarType dtype, "
      "Device device) -> Tensor");
  library.impl("philox_bernoulli", kKey, TORCH_FN(philox_bernoulli));
  library.def(
      "philox_uniform(Tensor state, int[] size, float low, float high, int threads, "
      "ScalarType dtype, Device device) -> Tensor");
  library.impl("philox_uniform", kKey, TORCH_FN(philox_uniform));
  library.def(
      "philox_normal(Tensor state, int[] size, float mean, float std, int threads, "
      "ScalarType dtype, Device device) -> Tensor");
  library.impl("philox_normal", kKey, TORCH_FN(philox_normal));
}

}  // namespace

void check_draws(const LinkedPlan& plan, const std::vector<at::Tensor>& inputs) {
  for (int i : plan.aligned)
    if (reinterpret_cast<uintptr_t>(inputs[static_cast<size_t>(i)].const_data_ptr()) %
            plan.device.alignment !=
        0)
      throw LeftToEager("dropout of an input that is not aligned, for which eager draws otherwise");
  try {
    at::globalContext().defaultGenerator(plan.device.device).current_seed();
  } catch (const c10::Error&) {
    throw LeftToEager("random numbers are drawn while a CUDA graph is recorded");
  }
}

}  // namespace inductor
