// Decompositions: operators rewritten over simpler ones while they are recorded.
//   {"aten::gelu_backward", gelu_backward},      // a row in its family's file
//
// A decomposition gets the boxed arguments on the stack (fakes among them), calls at:: operators,
// which are recorded in its place, and leaves its results on the stack. It must be functional, must
// give eager's dtypes, sizes and strides, and must not read tensor values.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace c10 {
struct IValue;
}

namespace aten_bridge {

using Stack = std::vector<c10::IValue>;

struct Decomposition {
  std::string_view op;  // "aten::native_layer_norm"
  void (*run)(Stack&);
  // Whether the operator is rewritten for these arguments (device, dtype, options); null: always.
  bool (*applies)(const Stack&) = nullptr;
  // Whether each element is rounded where eager rounds it: nothing is summed, no formula of several
  // operators stands for one kernel of eager's.
  bool keeps_eagers_bits = false;
  // Of a row that joined while the program ran, in the place of `run`.
  const std::function<void(Stack&)>* joined = nullptr;

  void replace(Stack& stack) const { joined != nullptr ? (*joined)(stack) : run(stack); }
};

// The row for an operator, or null. table.cc concatenates the families.
const Decomposition* find_decomposition(std::string_view op);
// From now on the operator is decomposed so; an empty function: not at all. Any thread.
void add_decomposition(std::string_view op, std::function<void(Stack&)> function);
std::span<const std::span<const Decomposition>> decomposition_families();

}  // namespace aten_bridge
