#include "inductor/lowering/element.h"

#include <algorithm>
#include <cmath>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/visit.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/promote.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using Operand = ElementFunction::Operand;

// Of an operator's arguments and results.
DType computed_dtype(const Node& node) {
  DType dtype = node.inputs().empty() ? node.outputs[0]->dtype : operands_dtype(node);
  for (const auto& output : node.outputs) dtype = promote(dtype, output->dtype);
  return dtype;
}

bool broadcasts_to(const TensorType& operand, const TensorType& result) {
  const size_t rank = operand.sizes.size();
  if (rank > result.sizes.size()) return false;
  const auto aligned = result.sizes.end() - static_cast<std::ptrdiff_t>(rank);
  return std::equal(operand.sizes.begin(), operand.sizes.end(), aligned,
                    [](const SymExpr& from, const SymExpr& to) { return from == 1 || from == to; });
}

Verdict has_one_shape(const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  for (const auto& output : node.outputs)
    if (!output || output->sizes != node.outputs[0]->sizes)
      return Verdict::no("results of several shapes");
  for (Value input : node.inputs())
    if (!broadcasts_to(input.type(), *node.outputs[0]))
      return Verdict::no("an operand that does not broadcast to the result");
  return Verdict::yes();
}

// The function at one place of the results.
class AtPlace {
 public:
  AtPlace(const ElementFunction& function, Elementwise& e)
      : function_(function), e_(e), compute_(compute_dtype(e.common())) {
    for (const auto& operation : function.operations) steps_.push_back(term(operation));
  }

  Term term(const Operand& operand) {
    return std::visit(overloaded{
                          [&](ElementFunction::Argument a) { return argument(a.index); },
                          [&](ElementFunction::Step s) { return steps_[s.index]; },
                          [&](double number) { return literal(number); },
                          [&](bool truth) { return inductor::truth(e_.number(truth)); },
                      },
                      operand);
  }

 private:
  Term argument(int index) {
    const std::string& name = function_.arguments[index];
    const Term own = e_.raw(name);
    return own && own.dtype() == DType::kBool ? own : e_[name];
  }

  Term literal(double number) {
    const bool fits = is_floating(compute_) || std::trunc(number) == number;
    return fits ? e_.number(number) : e_.refuse();
  }

  Term term(const ElementFunction::Operation& operation) {
    std::vector<Term> terms;
    for (const Operand& operand : operation.operands) terms.push_back(term(operand));
    const size_t condition = operation.op == ScalarOp::select ? 1 : 0;
    const auto values = std::span(terms).subspan(condition);
    const bool keeps_bools = row(operation.op).domain.find('B') != std::string_view::npos &&
                             std::all_of(values.begin(), values.end(), [](const Term& t) {
                               return t && t.dtype() == DType::kBool;
                             });
    if (condition) terms[0] = truth(terms[0]);
    if (!keeps_bools)
      for (Term& t : values) t = cast(compute_, t);
    return inductor::apply(operation.op, terms);
  }

  const ElementFunction& function_;
  Elementwise& e_;
  const DType compute_;
  std::vector<Term> steps_;
};

}  // namespace

Verdict lower_element(Builder& builder, const Node& node, const ElementFunction& function) {
  if (Verdict v = has_one_shape(node); !v) return v;
  if (node.outputs.size() != function.results.size()) return Verdict::no("other results");
  const DType common = computed_dtype(node);
  std::vector<Nest> nests;
  std::vector<Term> terms;
  for (const Operand& result : function.results) {
    nests.push_back(builder.nest(node.outputs[0]->sizes));
    Elementwise e(builder, node, nests.back(), common);
    terms.push_back(AtPlace(function, e).term(result));
    if (!terms.back()) return Verdict::no(str_cat("not defined on ", to_string(common)));
  }
  for (size_t i = 0; i < terms.size(); ++i)
    builder.store(node.output(static_cast<int>(i)), nests[i], terms[i].expr);
  return Verdict::yes();
}

}  // namespace inductor
