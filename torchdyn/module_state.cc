#include "torchdyn/module_state.h"

#include <torch/nn/module.h>

namespace torchdyn {
namespace {

// torch::nn::Module offers copies of its dictionaries only, at a microsecond each; a call walks all
// of a model's modules. An explicit instantiation may name private members, which gives us
// references.
using Tensors = torch::OrderedDict<std::string, at::Tensor>;
using Children = torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>>;

template <class Tag, auto Member>
struct Grant {
  friend auto member(Tag) { return Member; }
};
struct ParametersTag {
  friend auto member(ParametersTag);
};
struct BuffersTag {
  friend auto member(BuffersTag);
};
struct ChildrenTag {
  friend auto member(ChildrenTag);
};
template struct Grant<ParametersTag, &torch::nn::Module::parameters_>;
template struct Grant<BuffersTag, &torch::nn::Module::buffers_>;
template struct Grant<ChildrenTag, &torch::nn::Module::children_>;

const Tensors& parameters(const torch::nn::Module& m) { return m.*member(ParametersTag()); }
const Tensors& buffers(const torch::nn::Module& m) { return m.*member(BuffersTag()); }
const Children& children(const torch::nn::Module& m) { return m.*member(ChildrenTag()); }

// Calls fn(name, tensor) for each parameter and buffer of one module, undefined ones included.
template <class Fn>
void for_each_tensor(const torch::nn::Module& module, Fn fn) {
  for (const auto& item : parameters(module)) fn(item.key(), item.value());
  for (const auto& item : buffers(module)) fn(item.key(), item.value());
}

void add_names(const torch::nn::Module& module, const std::string& prefix,
               std::vector<std::string>& names) {
  for_each_tensor(module, [&](const std::string& name, const at::Tensor& t) {
    if (t.defined()) names.push_back(prefix + "." + name);
  });
  for (const auto& child : children(module))
    if (child.value()) add_names(*child.value(), prefix + "." + child.key(), names);
}

}  // namespace

void ModuleState::add(const torch::nn::Module& module) {
  add_alone(module);
  for (const auto& child : children(module))
    if (child.value()) add(*child.value());
}

void ModuleState::add_alone(const torch::nn::Module& module) {
  modules.push_back(&module);
  std::uint64_t flag = module.is_training() ? 1 : 0;
  for_each_tensor(module, [&](const std::string&, const at::Tensor& t) {
    flag = flag * 3 + (t.defined() ? 2 : 1);  // a digit a tensor: registering one more changes it
    if (t.defined()) tensors.push_back(t);
  });
  flags.push_back(flag);
}

std::vector<std::string> state_names(const torch::nn::Module& module, const std::string& prefix) {
  std::vector<std::string> names;
  add_names(module, prefix, names);
  return names;
}

}  // namespace torchdyn
