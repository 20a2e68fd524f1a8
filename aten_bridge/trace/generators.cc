#include "aten_bridge/trace/generators.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace aten_bridge {
namespace {

std::vector<at::Generator> default_generators() {
  at::Context& context = at::globalContext();
  std::vector<at::Generator> generators{context.defaultGenerator(c10::kCPU)};
  if (!at::hasCUDA()) return generators;
  const auto& cuda = at::detail::getCUDAHooks();
  for (int device = 0; device < cuda.getNumGPUs(); ++device)
    if (cuda.hasPrimaryContext(static_cast<c10::DeviceIndex>(device)))
      generators.push_back(context.defaultGenerator(c10::Device(c10::kCUDA, device)));
  return generators;
}

std::vector<at::Tensor> states_of(std::vector<at::Generator>& generators) {
  std::vector<at::Tensor> states;
  for (at::Generator& generator : generators) {
    const std::scoped_lock lock(generator.mutex());
    states.push_back(generator.get_state());
  }
  return states;
}

void set_states(std::vector<at::Generator>& generators, const std::vector<at::Tensor>& states) {
  for (size_t i = 0; i < states.size(); ++i) {
    const std::scoped_lock lock(generators[i].mutex());
    generators[i].set_state(states[i]);
  }
}

}  // namespace

GeneratorStates::GeneratorStates()
    : generators_(default_generators()), states_(states_of(generators_)) {}

GeneratorStates::~GeneratorStates() {
  if (!kept_) set_states(generators_, states_);
}

std::vector<at::Tensor> GeneratorStates::get() {
  auto generators = default_generators();
  return states_of(generators);
}

void GeneratorStates::set(const std::vector<at::Tensor>& states) {
  auto generators = default_generators();
  set_states(generators, states);
}

}  // namespace aten_bridge
