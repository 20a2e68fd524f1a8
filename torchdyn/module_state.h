// A module's tensors and flags, read anew on every call: declared state.
//   ModuleState state;
//   state.add(model, "model");      // model and its submodules, in registration order
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}

namespace torchdyn {

// Parallel to Leaves: what a call's modules add to it. Appends only; no names (see state_names).
struct ModuleState {
  std::vector<const torch::nn::Module*> modules;  // roots and submodules
  std::vector<at::Tensor> tensors;  // defined parameters, then buffers, module by module
  // One a module: its training flag, and which parameters and buffers are defined.
  std::vector<std::uint64_t> flags;

  void add(const torch::nn::Module& module);
  void add_alone(const torch::nn::Module& module);  // without its submodules
};

// The names of the tensors that add() collects, "prefix.layer.weight", in the same order.
std::vector<std::string> state_names(const torch::nn::Module& module, const std::string& prefix);

}  // namespace torchdyn
