// What one element of an operator's results is, as data: a row that joins the table of lowerings
// while the program runs.
//   auto swish = parse_element(R"(element 1 (x, beta) {
//     %0 = mul(beta, x)
//     %1 = neg(%0)
//     %2 = exp(%1)
//     %3 = add(1, %2)
//     %4 = div(x, %3)
//     return %4
//   })");
//   add_lowering("mylib::swish", *swish);      // fuses from now on, on every device
//
// Law
//  - Arguments are the operator's, by name: elements of tensors, broadcast, and numbers. All are
//    computed in the dtype to which ATen promotes the arguments and the results; float16 and
//    bfloat16 in float32. Results are converted by the store.
//  - Operations are the scalar operators of scalar_ops.def; bools stay bools where an operation is
//    defined on them, and are 0 and 1 elsewhere.
//  - Where an operation is not defined on the dtype of a call, that call is an extern call.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/lowering/row.h"

namespace inductor {

struct ElementFunction {
  struct Argument {
    int index;
  };
  struct Step {
    int index;
  };
  using Operand = std::variant<Argument, Step, double, bool>;
  struct Operation {
    ScalarOp op;
    std::vector<Operand> operands;
  };

  std::vector<std::string> arguments;
  std::vector<Operation> operations;  // each uses earlier ones alone
  std::vector<Operand> results;       // one a result of the operator
};

// The inverse of print; an unknown operation is an error that lists the known ones.
absl::StatusOr<ElementFunction> parse_element(std::string_view text);
std::string print(const ElementFunction& function);

// From now on the operator is lowered so. Any thread.
void add_lowering(std::string_view op, ElementFunction function);

// One nest a result.
Verdict lower_element(Builder& builder, const Node& node, const ElementFunction& function);

}  // namespace inductor
