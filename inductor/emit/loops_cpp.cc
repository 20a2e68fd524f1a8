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
    unpack_sizes();
    if (!std::all_of(kernel_.body.begin(), kernel_.body.end(), is_parallel)) unpack_buffers();
    if (std::any_of(kernel_.body.begin(), kernel_.body.end(), is_parallel))
      writer_->line("td_arguments arguments = {buffers, sizes};");
    body(kernel_.body);
  }
  return finish(functions_ + main.text());
}

void CppKernel::unpack_sizes() {
  for (size_t i = 0; i < arguments_.sizes.size(); ++i)
    writer_->line(str_cat("const int64_t s", i, " = sizes[", i, "];"));
}

void CppKernel::unpack_buffers() {
  for (size_t i = 0; i < arguments_.buffers.size(); ++i) {
    const int b = arguments_.buffers[i];
    const TensorType& tensor = program_.buffers[b].type;
    const std::string type = str_cat(arguments_.written.contains(b) ? "" : "const ",
                                     dialect_.type(tensor.dtype, 1), "*");
    writer_->line(str_cat(type, " __restrict ", names_.buffers.at(b), " = (", type, ")buffers[", i,
                          "];  // ", shape_text(tensor)));
  }
}

void CppKernel::body(const std::vector<Stmt>& stmts) {
  declare_locals(stmts);
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  values.plan(roots(stmts));
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
    if (names_.variables.contains(b))
      declare_variable(stmts, b);
    else
      writer_->line(str_cat("alignas(64) ", type_of(b), " ", names_.buffers.at(b), "[",
                            element_count(buffer.type).str(), "];"));
  }
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

void CppKernel::store(int buffer, const SymExpr& index, Values& values, const std::string& text) {
  if (!define(buffer, text)) values.store(buffer, index, {}, text);
}

void CppKernel::loop(const Loop& l) {
  const std::vector<Reduction> started = reductions_started_by(l, around_);
  for (const Reduction& r : started) begin_reduction(l, r);
  if (is_innermost(l)) {
    innermost_loop(l, vector_shape(program_, l).pieces);
  } else {
    const std::string name = enter(l);
    auto scope = writer_->open(for_head("int64_t", name, "0", names_.index(l.extent), "1"));
    body(l.body);
    for (const Reduce* r : begun_) end_run(l, *r);
    leave(l);
  }
  for (const Reduction& r : started) end_reduction(r);
}

void CppKernel::innermost_loop(const Loop& l, const std::vector<Piece>& pieces) {
  const Values::Named hoisted = hoist(l);
  const std::string name = enter(l);
  for (const Piece& piece : pieces) {
    const int step = piece.width * piece.unroll;
    auto scope = writer_->open(for_head("int64_t", name, names_.index(piece.begin),
                                        names_.index(piece.end), str_cat(step)));
    if (piece.unroll == 1) {
      straight(l, piece, hoisted);
      continue;
    }
    writer_->line("#pragma GCC unroll 4");  // so that -O2 keeps the accumulators in registers
    auto unrolled = writer_->open(for_head("int64_t", "u0", "0", str_cat(piece.unroll), "1"));
    const SymExpr base = names_.symbols.at(l.var);
    names_.symbols[l.var] = base + piece.width * var('u', 0);
    straight(l, piece, hoisted);
    names_.symbols[l.var] = base;
  }
  leave(l);
}

void CppKernel::straight(const Loop& l, const Piece& piece, const Values::Named& hoisted) {
  Values values(program_, names_, dialect_, *writer_, {piece.width, l.var}, hoisted);
  values.plan(roots(l.body));
  for (const Stmt& stmt : l.body) leaf(stmt, values, piece);
}

EmittedKernel emit_cpp(const LoopProgram& program, const Kernel& kernel) {
  return CppKernel(program, kernel).emit();
}

}  // namespace inductor
