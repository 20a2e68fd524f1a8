// Classes and functions of torch that are other functions of torch, or nothing that a program sees.
#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// LibTorch: torch/csrc/utils/tensor_new.cpp, legacy_variable_ctor: the tensor without its history.
VarRef variable(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, {args.positional, {}}, 1, 1);
  const bool is_tensor = dynamic_cast<const TensorVariable*>(args.positional[0].get()) != nullptr;
  for (const auto& [name, value] : args.named)
    if (name != "requires_grad" || protocol::truth(t, value))
      unknown_arguments(function, "with " + name);
  if (!is_tensor) unknown_arguments(function, "of a " + args.positional[0]->type_name());
  return protocol::call(t, protocol::get_attribute(t, args.positional[0], "detach"), {});
}

// What Dynamo notes of new modules for itself.
VarRef unseen(Translator&, PyBorrow, const CallArgs&) { return none(); }

constexpr BuiltinRow kRows[] = {
    {"torch._dynamo.mutation_guard", "GenerationTracker.tag", unseen},
    {"torch.autograd", "Variable", variable},
};

}  // namespace

const std::span<const BuiltinRow> kTorchBuiltins = kRows;

}  // namespace torchdyn
