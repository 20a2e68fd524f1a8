#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cpp_kernel.h"
#include "inductor/emit/emit.h"
#include "inductor/emit/hoist.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

std::string for_head(const std::string& name, const std::string& begin, const std::string& end,
                     const std::string& step) {
  return str_cat("for (int64_t ", name, " = ", begin, "; ", name, " < ", end, "; ",
                 step == "1" ? str_cat("++", name) : str_cat(name, " += ", step), ")");
}

CppKernel::CppKernel(const LoopProgram& program, const Kernel& kernel)
    : program_(program), kernel_(kernel), arguments_(kernel_arguments(program, kernel)) {
  names_.buffers = arguments_.names;
  for (size_t i = 0; i < arguments_.sizes.size(); ++i)
    names_.symbols[arguments_.sizes[i]] = var('s', static_cast<int>(i));
}

EmittedKernel CppKernel::emit() {
  Writer main;
  {
    auto function = main.open(str_cat("extern \"C\" void ", kNameMark,
                                      "(void* const* buffers, const int64_t* sizes, "
                                      "const TdContext* context)"));
    writer_ = &main;
    const auto is_parallel = [](const Stmt& stmt) {
      const auto* loop = std::get_if<Loop>(&stmt);
      return loop && loop->parallel;
    };
    if (!std::all_of(kernel_.body.begin(), kernel_.body.end(), is_parallel)) unpack();
    if (std::any_of(kernel_.body.begin(), kernel_.body.end(), is_parallel))
      writer_->line("td_arguments arguments = {buffers, sizes};");
    body(kernel_.body);
  }
  EmittedKernel out;
  std::string text = functions_ + main.text();
  out.name = str_cat(kernel_.name, "_", aten_bridge::digest({header(), text}).substr(0, 8));
  out.text = header() + absl::StrReplaceAll(text, {{aten_bridge::to_absl(kNameMark), out.name}});
  out.buffers = arguments_.buffers;
  for (Symbol s : arguments_.sizes) out.sizes.push_back(SymExpr::symbol(s));
  return out;
}

std::string CppKernel::header() const {
  return str_cat("// ", kernel_.name, ": ", absl::StrJoin(kernel_.origins, ", "), "\n");
}

std::string CppKernel::shape_text(const TensorType& type) const {
  return str_cat(
      aten_bridge::to_string(type.dtype), "[",
      absl::StrJoin(type.sizes, ", ",
                    [&](std::string* out, const SymExpr& e) { out->append(names_.index(e)); }),
      "]");
}

void CppKernel::unpack() {
  for (size_t i = 0; i < arguments_.sizes.size(); ++i)
    writer_->line(str_cat("const int64_t s", i, " = sizes[", i, "];"));
  for (size_t i = 0; i < arguments_.buffers.size(); ++i) {
    const int b = arguments_.buffers[i];
    const TensorType& tensor = program_.buffers[b].type;
    const std::string type = str_cat(arguments_.written.contains(b) ? "" : "const ",
                                     cpp_dialect().type(tensor.dtype, 1), "*");
    writer_->line(str_cat(type, " __restrict ", names_.buffers.at(b), " = (", type, ")buffers[", i,
                          "];  // ", shape_text(tensor)));
  }
}

void CppKernel::body(const std::vector<Stmt>& stmts) {
  declare_locals(stmts);
  Values values(program_, names_, cpp_dialect(), *writer_, {}, kNothingNamed);
  std::vector<Expr> all;
  for (const Stmt& stmt : stmts)
    if (!std::holds_alternative<Loop>(stmt))
      for (Expr e : expressions(stmt)) all.push_back(e);
  values.plan(all);
  for (const Stmt& stmt : stmts) {
    if (const auto* loop = std::get_if<Loop>(&stmt))
      loop->parallel ? parallel(*loop) : this->loop(*loop);
    else
      leaf(stmt, values, {0, 1});
  }
}

void CppKernel::declare_locals(const std::vector<Stmt>& stmts) {
  const auto it =
      stmts.empty() ? arguments_.locals_of.end() : arguments_.locals_of.find(stmts.data());
  if (it == arguments_.locals_of.end()) return;
  for (int b : it->second) {
    const Buffer& buffer = program_.buffers[b];
    const std::string type = cpp_dialect().type(buffer.type.dtype, 1);
    if (!is_variable(buffer)) {
      writer_->line(str_cat("alignas(64) ", type, " ", names_.buffers.at(b), "[",
                            element_count(buffer.type).str(), "];"));
    } else if (is_defined_by_first_use(stmts, b)) {
      undeclared_.insert(b);
    } else {
      writer_->line(str_cat(type, " ", names_.buffers.at(b), ";"));
    }
  }
}

bool CppKernel::is_defined_by_first_use(const std::vector<Stmt>& stmts, int b) const {
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

void CppKernel::leaf(const Stmt& stmt, Values& values, const Piece& piece) {
  std::visit(overloaded{
                 [&](const Store& s) { store(s.buffer, s.index, values, values.value(s.value)); },
                 [&](const Reduce& r) { reduce(r, values, piece); },
                 [&](const Scatter& s) {
                   const std::string old = values.load(s.buffer, s.index, s.symbol_values);
                   values.store(s.buffer, s.index, s.symbol_values,
                                combine(s.op, s.buffer, piece.width, old, values.value(s.value)));
                 },
                 [](const auto&) { TD_CHECK(false, "no statement of a kernel's body"); },
             },
             stmt);
}

DType CppKernel::dtype(int buffer) const { return program_.buffers[buffer].type.dtype; }

std::string CppKernel::combine(ReduceOp op, int buffer, int width, std::string a,
                               std::string b) const {
  const std::string args[] = {std::move(a), std::move(b)};
  return cpp_dialect().apply(scalar_op(op), dtype(buffer), width, args);
}

void CppKernel::store(int buffer, const SymExpr& index, Values& values, const std::string& text) {
  if (undeclared_.erase(buffer))
    writer_->line(str_cat("const ", cpp_dialect().type(dtype(buffer), 1), " ",
                          names_.buffers.at(buffer), " = ", text, ";"));
  else
    values.store(buffer, index, {}, text);
}

void CppKernel::loop(const Loop& l) {
  const std::vector<Reduction> started = reductions_started_by(l, around_);
  for (const Reduction& r : started) begin_reduction(l, r);
  const bool innermost = std::none_of(
      l.body.begin(), l.body.end(), [](const Stmt& s) { return std::holds_alternative<Loop>(s); });
  if (innermost) {
    innermost_loop(l, vector_shape(program_, l).pieces);
  } else {
    const std::string name = enter(l);
    auto scope = writer_->open(for_head(name, "0", names_.index(l.extent), "1"));
    body(l.body);
    leave(l);
  }
  for (const Reduction& r : started) end_reduction(r);
}

std::string CppKernel::enter(const Loop& l) {
  const SymExpr name = var('i', static_cast<int>(around_.size()));
  names_.symbols[l.var] = name;
  around_.push_back(&l);
  return name.str();
}

void CppKernel::leave(const Loop& l) {
  around_.pop_back();
  names_.symbols.erase(l.var);
}

void CppKernel::innermost_loop(const Loop& l, const std::vector<Piece>& pieces) {
  const Values::Named hoisted = hoist(l);
  const std::string name = enter(l);
  for (const Piece& piece : pieces) {
    const int step = piece.width * piece.unroll;
    auto scope = writer_->open(
        for_head(name, names_.index(piece.begin), names_.index(piece.end), str_cat(step)));
    if (piece.unroll == 1) {
      straight(l, piece, hoisted);
      continue;
    }
    writer_->line("#pragma GCC unroll 4");  // so that -O2 keeps the accumulators in registers
    auto unrolled = writer_->open(for_head("u0", "0", str_cat(piece.unroll), "1"));
    const SymExpr base = names_.symbols.at(l.var);
    names_.symbols[l.var] = base + piece.width * var('u', 0);
    straight(l, piece, hoisted);
    names_.symbols[l.var] = base;
  }
  leave(l);
}

void CppKernel::straight(const Loop& l, const Piece& piece, const Values::Named& hoisted) {
  Values values(program_, names_, cpp_dialect(), *writer_, {piece.width, l.var}, hoisted);
  values.plan(roots(l.body));
  for (const Stmt& stmt : l.body) leaf(stmt, values, piece);
}

Values::Named CppKernel::hoist(const Loop& l) {
  const std::vector<Expr> found = invariants(l);
  Values values(program_, names_, cpp_dialect(), *writer_, {}, kNothingNamed,
                {'c', &names_.next_hoisted});
  values.plan(found);
  Values::Named named;
  for (Expr e : found) {
    if (e.op() == ScalarOp::load && is_variable(program_.buffers[e.buffer()])) {
      named[e.node()] = names_.buffers.at(e.buffer());
      continue;
    }
    named[e.node()] = values.name(e);
  }
  return named;
}

EmittedKernel emit_cpp(const LoopProgram& program, const Kernel& kernel) {
  return CppKernel(program, kernel).emit();
}

}  // namespace inductor
