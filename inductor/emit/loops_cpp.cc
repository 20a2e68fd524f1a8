#include <algorithm>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/emit.h"
#include "inductor/emit/hoist.h"
#include "inductor/emit/kernel_arguments.h"
#include "inductor/emit/preamble/embedded.h"
#include "inductor/emit/reductions.h"
#include "inductor/emit/values.h"
#include "inductor/emit/vector_shape.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/cost.h"

namespace inductor {

using aten_bridge::str_append;
using aten_bridge::str_cat;

namespace {

// Stands for the kernel's name until the text, and with it the name, is complete.
constexpr std::string_view kNameMark = "KERNEL_NAME";
constexpr int64_t kWorkPerTask = 32 * 1024;  // less is not worth a thread

SymExpr var(char kind, int index) { return SymExpr::symbol({kind, index}); }

std::string for_head(const std::string& name, const std::string& begin, const std::string& end,
                     const std::string& step) {
  return str_cat("for (int64_t ", name, " = ", begin, "; ", name, " < ", end, "; ",
                 step == "1" ? str_cat("++", name) : str_cat(name, " += ", step), ")");
}

// A reduction's running value: in registers or in its target.
struct Accumulator {
  std::string name;  // empty: in memory
  VectorShape shape;
};

class CppKernel {
 public:
  CppKernel(const LoopProgram& program, const Kernel& kernel)
      : program_(program), kernel_(kernel), arguments_(kernel_arguments(program, kernel)) {
    names_.buffers = arguments_.names;
    for (size_t i = 0; i < arguments_.sizes.size(); ++i)
      names_.symbols[arguments_.sizes[i]] = var('s', static_cast<int>(i));
  }

  EmittedKernel emit() {
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

 private:
  std::string header() const {
    return str_cat("// ", kernel_.name, ": ", absl::StrJoin(kernel_.origins, ", "), "\n");
  }

  // ---- Arguments ----

  std::string shape_text(const TensorType& type) const {
    return str_cat(
        aten_bridge::to_string(type.dtype), "[",
        absl::StrJoin(type.sizes, ", ",
                      [&](std::string* out, const SymExpr& e) { out->append(names_.index(e)); }),
        "]");
  }

  void unpack() {
    for (size_t i = 0; i < arguments_.sizes.size(); ++i)
      writer_->line(str_cat("const int64_t s", i, " = sizes[", i, "];"));
    for (size_t i = 0; i < arguments_.buffers.size(); ++i) {
      const int b = arguments_.buffers[i];
      const TensorType& tensor = program_.buffers[b].type;
      const std::string type = str_cat(arguments_.written.contains(b) ? "" : "const ",
                                       cpp_dialect().type(tensor.dtype, 1), "*");
      writer_->line(str_cat(type, " __restrict ", names_.buffers.at(b), " = (", type, ")buffers[",
                            i, "];  // ", shape_text(tensor)));
    }
  }

  // ---- Bodies ----

  // Statements in order; what they share is named once.
  void body(const std::vector<Stmt>& stmts) {
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

  void declare_locals(const std::vector<Stmt>& stmts) {
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

  // Whether the first statement that mentions a variable gives it its value in this very scope.
  bool is_defined_by_first_use(const std::vector<Stmt>& stmts, int b) const {
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

  void leaf(const Stmt& stmt, Values& values, const Piece& piece) {
    std::visit(overloaded{
                   [&](const Store& s) { store(s, values, values.value(s.value)); },
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

  template <class Target>
  void store(const Target& target, Values& values, const std::string& text) {
    if (undeclared_.erase(target.buffer))
      writer_->line(str_cat("const ", cpp_dialect().type(dtype(target.buffer), 1), " ",
                            names_.buffers.at(target.buffer), " = ", text, ";"));
    else
      values.store(target.buffer, target.index, {}, text);
  }

  DType dtype(int buffer) const { return program_.buffers[buffer].type.dtype; }

  std::string combine(ReduceOp op, int buffer, int width, std::string a, std::string b) const {
    const std::string args[] = {std::move(a), std::move(b)};
    return cpp_dialect().apply(scalar_op(op), dtype(buffer), width, args);
  }

  // ---- Loops ----

  void loop(const Loop& l) {
    const std::vector<Reduction> started = reductions_started_by(l, around_);
    for (const Reduction& r : started) begin_reduction(l, r);
    const bool innermost = std::none_of(l.body.begin(), l.body.end(), [](const Stmt& s) {
      return std::holds_alternative<Loop>(s);
    });
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

  // Names a loop's variable by its depth.
  std::string enter(const Loop& l) {
    const SymExpr name = var('i', static_cast<int>(around_.size()));
    names_.symbols[l.var] = name;
    around_.push_back(&l);
    return name.str();
  }
  void leave(const Loop& l) {
    around_.pop_back();
    names_.symbols.erase(l.var);
  }

  void innermost_loop(const Loop& l, const std::vector<Piece>& pieces) {
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
      auto unrolled = writer_->open(for_head("u0", "0", str_cat(piece.unroll), "1"));
      const SymExpr base = names_.symbols.at(l.var);
      names_.symbols[l.var] = base + piece.width * var('u', 0);
      straight(l, piece, hoisted);
      names_.symbols[l.var] = base;
    }
    leave(l);
  }

  void straight(const Loop& l, const Piece& piece, const Values::Named& hoisted) {
    Values values(program_, names_, cpp_dialect(), *writer_, {piece.width, l.var}, hoisted);
    values.plan(roots(l.body));
    for (const Stmt& stmt : l.body) leaf(stmt, values, piece);
  }

  Values::Named hoist(const Loop& l) {
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

  // ---- Reductions ----

  void begin_reduction(const Loop& outermost, const Reduction& r) {
    Accumulator& acc = accumulators_[r.reduce];
    const Loop& innermost = r.inside.empty() ? outermost : *r.inside.back();
    const std::string start = identity(cpp_dialect(), r.reduce->op, dtype(r.reduce->buffer));
    if (!r.in_registers) {
      fill(*r.reduce, r.inside, start);
      return;
    }
    acc.name = str_cat("acc", names_.next_accumulator++);
    acc.shape = vector_shape(program_, innermost);
    const std::string scalar = cpp_dialect().type(dtype(r.reduce->buffer), 1);
    if (acc.shape.width == 1) {
      writer_->line(str_cat(scalar, " ", acc.name, " = ", start, ";"));
      return;
    }
    const std::string type = cpp_dialect().type(dtype(r.reduce->buffer), acc.shape.width);
    const std::string wide = str_cat("td_set<", type, ">(", start, ")");
    if (acc.shape.unroll == 1)
      writer_->line(str_cat(type, " ", acc.name, " = ", wide, ";"));
    else
      writer_->line(str_cat(type, " ", acc.name, "[", acc.shape.unroll, "] = {", wide, ", ", wide,
                            ", ", wide, ", ", wide, "};"));
    if (acc.shape.has_rest) writer_->line(str_cat(scalar, " ", acc.name, "_rest = ", start, ";"));
  }

  // Sets every element that the loops inside choose.
  void fill(const Reduce& reduce, std::span<const Loop* const> inside, const std::string& value) {
    std::vector<Writer::Scope> scopes;
    std::vector<const Loop*> entered;
    for (const Loop* l : inside) {
      if (!reduce.index.mentions(l->var)) continue;
      const std::string name = enter(*l);
      entered.push_back(l);
      scopes.push_back(writer_->open(for_head(name, "0", names_.index(l->extent), "1")));
    }
    writer_->line(str_cat(names_.buffers.at(reduce.buffer), "[", names_.index(reduce.index),
                          "] = ", value, ";"));
    while (!scopes.empty()) scopes.pop_back();
    while (!entered.empty()) {
      leave(*entered.back());
      entered.pop_back();
    }
  }

  void reduce(const Reduce& r, Values& values, const Piece& piece) {
    const std::string value = values.value(r.value);
    const auto it = accumulators_.find(&r);
    if (it == accumulators_.end()) {  // every loop it reduced over had one iteration
      store(r, values, value);
    } else if (it->second.name.empty()) {
      const std::string old = values.load(r.buffer, r.index, {});
      values.store(r.buffer, r.index, {}, combine(r.op, r.buffer, piece.width, old, value));
    } else {
      const std::string name = running(it->second, piece);
      writer_->line(str_cat(name, " = ", combine(r.op, r.buffer, piece.width, name, value), ";"));
    }
  }

  std::string running(const Accumulator& acc, const Piece& piece) const {
    if (acc.shape.width == 1) return acc.name;
    if (piece.width == 1) return str_cat(acc.name, "_rest");
    if (acc.shape.unroll == 1) return acc.name;
    return str_cat(acc.name, piece.unroll > 1 ? "[u0]" : "[0]");
  }

  void end_reduction(const Reduction& r) {
    const auto it = accumulators_.find(r.reduce);
    const Accumulator acc = it->second;
    accumulators_.erase(it);
    if (acc.name.empty()) return;
    const auto join = [&](int width, std::string a, std::string b) {
      return combine(r.reduce->op, r.reduce->buffer, width, std::move(a), std::move(b));
    };
    std::string text = acc.name;
    if (acc.shape.unroll > 1)
      text = join(acc.shape.width, join(acc.shape.width, text + "[0]", text + "[1]"),
                  join(acc.shape.width, text + "[2]", text + "[3]"));
    if (acc.shape.width > 1) text = str_cat(across_lanes(r.reduce->op), "(", text, ")");
    if (acc.shape.has_rest) text = join(1, text, acc.name + "_rest");
    Values values(program_, names_, cpp_dialect(), *writer_, {}, kNothingNamed);
    store(*r.reduce, values, text);
  }

  // ---- Parallel loops ----

  // Outlines a loop, and those perfectly inside that are parallel too, into a function over a
  // range.
  void parallel(const Loop& outer) {
    std::vector<const Loop*> loops{&outer};
    for (const Loop* l = &outer; l->body.size() == 1;) {
      l = std::get_if<Loop>(&l->body[0]);
      if (!l || !l->parallel) break;
      loops.push_back(l);
    }
    const std::string function = str_cat(kNameMark, "_part", next_part_++);
    Writer part;
    Writer* const before = std::exchange(writer_, &part);
    {
      auto scope = part.open(
          str_cat("static void ", function, "(void* argument, int64_t begin, int64_t end)"));
      part.line("void* const* buffers = ((const td_arguments*)argument)->buffers;");
      if (!arguments_.sizes.empty())
        part.line("const int64_t* sizes = ((const td_arguments*)argument)->sizes;");
      unpack();
      outer.vector ? parallel_blocks(outer) : parallel_range(loops);
    }
    functions_ += part.text() + "\n";
    writer_ = before;
    SymExpr count = 1;
    for (const Loop* l : loops) count = count * l->extent;
    const int64_t each = std::max<int64_t>(1, work(loops.back()->body));
    int64_t grain = std::max<int64_t>(1, kWorkPerTask / each);
    if (outer.vector) {
      count = floor_div(count + (block(outer) - 1), block(outer));
      grain = 1;
    }
    writer_->line(str_cat("context->parallel_for(", names_.index(count), ", ", grain, ", ",
                          function, ", &arguments);"));
  }

  // Iterations of a vector loop that one thread runs together: whole vectors, in any dtype.
  static int64_t block(const Loop& l) {
    int64_t size = 64;
    while (size * work(l.body) < kWorkPerTask) size *= 2;
    return size;
  }

  void parallel_blocks(const Loop& l) {
    auto scope = writer_->open(for_head("n0", "begin", "end", "1"));
    innermost_loop(l, block_of(vector_shape(program_, l), var('n', 0), block(l)));
  }

  void parallel_range(const std::vector<const Loop*>& loops) {
    const bool flat = loops.size() == 1;
    std::vector<std::string> names;
    for (const Loop* l : loops) names.push_back(enter(*l));
    auto scope = writer_->open(for_head(flat ? names[0] : "n", "begin", "end", "1"));
    std::string rest = "n";
    for (size_t k = loops.size(); !flat && k-- > 0;) {
      const std::string extent = str_cat("(", names_.index(loops[k]->extent), ")");
      writer_->line(str_cat("const int64_t ", names[k], " = ", rest,
                            k > 0 ? str_cat(" % ", extent) : "", ";"));
      rest = str_cat("(", rest, " / ", extent, ")");
    }
    body(loops.back()->body);
    for (size_t k = loops.size(); k-- > 0;) leave(*loops[k]);
  }

  inline static const Values::Named kNothingNamed;

  const LoopProgram& program_;
  const Kernel& kernel_;
  const KernelArguments arguments_;
  Names names_;
  Writer* writer_ = nullptr;
  std::string functions_;
  std::vector<const Loop*> around_;
  absl::flat_hash_map<const Reduce*, Accumulator> accumulators_;
  absl::flat_hash_set<int> undeclared_;  // variables whose first line is still to come
  int next_part_ = 0;
};

}  // namespace

std::string cpp_preamble() { return str_cat(td_cpu_h(), "\n", td_cpu_math_h()); }

EmittedKernel emit_cpp(const LoopProgram& program, const Kernel& kernel) {
  return CppKernel(program, kernel).emit();
}

}  // namespace inductor
