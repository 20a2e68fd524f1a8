// The text of an element function.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/scanner.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/visit.h"
#include "inductor/lowering/element.h"

namespace inductor {
namespace {

using aten_bridge::join;
using aten_bridge::Scanner;
using aten_bridge::str_cat;
using Operand = ElementFunction::Operand;

constexpr std::string_view kVersion = "1";

std::string known_operations() {
  return join(scalar_ops(), [](const ScalarOpRow& row) { return row.name; });
}

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  ElementFunction function() {
    if (!in_.eat_word("element")) in_.fail("'element'");
    if (!in_.sees_number() || in_.number() != kVersion) in_.fail(str_cat("version ", kVersion));
    in_.expect("(");
    while (!in_.eat(")")) {
      function_.arguments.emplace_back(in_.word());
      if (!in_.sees(")")) in_.expect(",");
    }
    in_.expect("{");
    while (!in_.eat_word("return")) operation();
    do function_.results.push_back(operand());
    while (in_.eat(","));
    in_.expect("}");
    if (!in_.at_end()) in_.fail("the end");
    return std::move(function_);
  }

 private:
  void operation() {
    in_.expect("%");
    if (in_.integer() != static_cast<int64_t>(function_.operations.size()))
      in_.refuse("operations are numbered in order");
    in_.expect("=");
    const std::string name(in_.word());
    const auto op = parse_scalar_op(name);
    if (!op || !is_in_table(*op))
      in_.refuse(str_cat("no operation ", name, "; there are ", known_operations()));
    ElementFunction::Operation operation{*op, {}};
    in_.expect("(");
    do operation.operands.push_back(operand());
    while (in_.eat(","));
    in_.expect(")");
    if (static_cast<int>(operation.operands.size()) != row(*op).arity)
      in_.refuse(
          str_cat(name, " takes ", row(*op).arity, " operands, not ", operation.operands.size()));
    function_.operations.push_back(std::move(operation));
  }

  Operand operand() {
    if (in_.eat("%")) {
      const int64_t index = in_.integer();
      if (index < 0 || index >= static_cast<int64_t>(function_.operations.size()))
        in_.refuse(str_cat("%", index, " is not defined"));
      return ElementFunction::Step{static_cast<int>(index)};
    }
    if (in_.sees_number()) return std::strtod(std::string(in_.number()).c_str(), nullptr);
    if (in_.eat_word("true")) return true;
    if (in_.eat_word("false")) return false;
    const std::string name(in_.word());
    const auto& names = function_.arguments;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) in_.refuse(str_cat(name, " is no argument"));
    return ElementFunction::Argument{static_cast<int>(found - names.begin())};
  }

  Scanner in_;
  ElementFunction function_;
};

std::string print_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

}  // namespace

absl::StatusOr<ElementFunction> parse_element(std::string_view text) {
  try {
    return Parser(text).function();
  } catch (const aten_bridge::SyntaxError& error) {
    return absl::InvalidArgumentError(error.message);
  }
}

std::string print(const ElementFunction& function) {
  const auto operand = [&](const Operand& o) {
    return std::visit(overloaded{
                          [&](ElementFunction::Argument a) { return function.arguments[a.index]; },
                          [](ElementFunction::Step s) { return str_cat("%", s.index); },
                          [](double number) { return print_number(number); },
                          [](bool truth) { return std::string(truth ? "true" : "false"); },
                      },
                      o);
  };
  std::string text = str_cat("element ", kVersion, " (",
                             join(function.arguments, [](const auto& a) { return a; }), ") {\n");
  for (size_t i = 0; i < function.operations.size(); ++i) {
    const auto& operation = function.operations[i];
    text += str_cat("  %", i, " = ", row(operation.op).name, "(", join(operation.operands, operand),
                    ")\n");
  }
  return text + "  return " + join(function.results, operand) + "\n}\n";
}

}  // namespace inductor
