#include "inductor/emit/kernel_text.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/hoist.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

std::string for_head(std::string_view type, const std::string& name, const std::string& begin,
                     const std::string& end, const std::string& step) {
  return str_cat("for (", type, " ", name, " = ", begin, "; ", name, " < ", end, "; ",
                 step == "1" ? str_cat("++", name) : str_cat(name, " += ", step), ")");
}

KernelText::KernelText(const LoopProgram& program, const Kernel& kernel, const Dialect& dialect)
    : program_(program),
      kernel_(kernel),
      dialect_(dialect),
      arguments_(kernel_arguments(program, kernel)) {
  names_.buffers = arguments_.names;
  names_.variables = arguments_.variables;
  for (size_t i = 0; i < arguments_.sizes.size(); ++i)
    names_.symbols[arguments_.sizes[i]] = var('s', static_cast<int>(i));
}

EmittedKernel KernelText::finish(const std::string& text) const {
  EmittedKernel out;
  const std::string header =
      str_cat("// ", kernel_.name, ": ", absl::StrJoin(kernel_.origins, ", "), "\n");
  out.name = str_cat(kernel_.name, "_", aten_bridge::digest({header, text}).substr(0, 8));
  out.text = header + absl::StrReplaceAll(text, {{aten_bridge::to_absl(kNameMark), out.name}});
  out.buffers = arguments_.buffers;
  out.values = arguments_.values;
  for (Symbol s : arguments_.sizes) out.sizes.push_back(SymExpr::symbol(s));
  return out;
}

std::string KernelText::shape_text(const TensorType& type) const {
  return str_cat(
      aten_bridge::to_string(type.dtype), "[",
      absl::StrJoin(type.sizes, ", ",
                    [&](std::string* out, const SymExpr& e) { out->append(names_.index(e)); }),
      "]");
}

std::string KernelText::combine(ReduceOp op, DType dtype, int width, std::string a,
                                std::string b) const {
  const std::string args[] = {std::move(a), std::move(b)};
  return dialect_.apply(scalar_op(op), dtype, width, args);
}

std::string KernelText::enter(const Loop& l) {
  const SymExpr name = var('i', static_cast<int>(around_.size()));
  names_.symbols[l.var] = name;
  around_.push_back(&l);
  return name.str();
}

void KernelText::leave(const Loop& l) {
  around_.pop_back();
  names_.symbols.erase(l.var);
}

bool KernelText::is_defined_by_first_use(std::span<const Stmt> stmts, int b) const {
  for (const Stmt& stmt : stmts) {
    const auto reads = buffers_read(stmt), writes = buffers_written(stmt);
    if (std::binary_search(reads.begin(), reads.end(), b)) return false;
    if (!std::binary_search(writes.begin(), writes.end(), b)) continue;
    const auto* loop = std::get_if<Loop>(&stmt);
    if (!loop) return std::holds_alternative<Store>(stmt);
    for (const Reduction& r : reductions_started_by(*loop, around_))
      if (r.reduce->buffer == b && r.in_registers) return true;
    return false;
  }
  return false;
}

void KernelText::declare_variable(std::span<const Stmt> stmts, int b) {
  if (is_defined_by_first_use(stmts, b))
    undeclared_.insert(b);
  else
    writer_->line(str_cat(type_of(b), " ", names_.buffers.at(b), ";"));
}

bool KernelText::define(int buffer, const std::string& text) {
  if (!undeclared_.erase(buffer)) return false;
  writer_->line(
      str_cat("const ", type_of(buffer), " ", names_.buffers.at(buffer), " = ", text, ";"));
  return true;
}

Values::Named KernelText::hoist(const Loop& l) {
  const std::vector<Expr> found = invariants(l);
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed,
                {'c', &names_.next_hoisted});
  values.plan(found);
  Values::Named named;
  for (Expr e : found) {
    const bool is_variable = e.op() == ScalarOp::load && names_.variables.contains(e.buffer());
    named[e.node()] = is_variable ? names_.buffers.at(e.buffer()) : values.name(e);
  }
  return named;
}

}  // namespace inductor
