#include <algorithm>

#include "absl/strings/str_replace.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cuda_kernel.h"
#include "inductor/emit/emit.h"
#include "inductor/emit/hoist.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

bool adds_by_place(const Loop& l) {
  const Loop* row = l.parallel && l.kind == LoopKind::kReduction ? only_loop(l.body) : nullptr;
  return row && std::holds_alternative<Scatter>(row->body[0]);
}

bool divides_among_groups(const Loop& l) {
  return l.parallel && l.kind == LoopKind::kReduction && !adds_by_place(l);
}

bool starts_divided(std::span<const Stmt> body) {
  const auto* first = body.empty() ? nullptr : std::get_if<Loop>(&body[0]);
  return first && divides_among_groups(*first);
}

// "int" where every index of the kernel fits, else "int64_t".
std::string index_type(const Kernel& kernel) {
  Extents extents;
  add_extents(kernel.body, extents);
  constexpr int64_t kStep = 1024 * kMostWide;  // a loop's variable ends that far behind, at most
  bool fits = true;
  for (const Access& a : accesses(kernel.body)) {
    const Bounds b = bounds_of(a.index, a.symbol_bounds, extents);
    fits &= is_bounded(b) && aten_bridge::fits_int32({b.low, b.high + kStep});
  }
  return fits ? "int" : "int64_t";
}

}  // namespace

CudaKernel::CudaKernel(const LoopProgram& program, const Kernel& kernel)
    : KernelText(program, kernel, cuda_dialect()),
      index_(index_type(kernel)),
      maps_(lane_maps(program, kernel)) {}

EmittedKernel CudaKernel::emit() {
  const std::vector<const Loop*> loops = grid_loops();
  const bool flat = !loops.empty() && loops.back()->vector;
  const int threads = kernel_.lanes * kernel_.groups;
  Writer main;
  SymExpr blocks = 1;
  {
    auto function = main.open(str_cat("extern \"C\" __global__ void __launch_bounds__(", threads,
                                      ") ", kNameMark, "(", kParametersMark, ")"));
    writer_ = &main;
    if (flat) {
      blocks = flat_grid(loops);
    } else {
      blocks = grid(loops);
      if (!loops.empty() && adds_by_place(*loops.back()))
        add_by_place(*loops.back());
      else
        block_body(loops.empty() ? kernel_.body : loops.back()->body);
    }
  }
  EmittedKernel out = finish(
      absl::StrReplaceAll(main.text(), {{aten_bridge::to_absl(kParametersMark), parameters()}}));
  out.shape = {blocks, threads};
  return out;
}

// Numbers of threads or groups are divided by extents, which takes several times as long where they
// are as wide as the indices of large tensors.
std::string CudaKernel::type_of_number(const SymExpr& count) const {
  const auto n = count.constant();
  return n && aten_bridge::fits_int32({0, *n + 1024 * kMostWide}) ? "int" : index_;
}

// A thread takes as many iterations of the innermost loop as fit one access of memory; where that
// is one and there are very many, several that its neighbours' stand between.
SymExpr CudaKernel::flat_grid(const std::vector<const Loop*>& loops) {
  constexpr int64_t kMany = 8 * 1024 * 1024, kSteps = 8;
  const LaneMap& map = map_of(*loops.back());
  const SymExpr whole = floor_div(map.extent, map.width);
  const SymExpr pieces = map.head ? whole + 2 * (map.width - 1) : whole;
  SymExpr count = pieces;
  for (size_t k = 0; k + 1 < loops.size(); ++k) count = count * loops[k]->extent;
  const int64_t steps = map.width == 1 && count.constant().value_or(0) >= kMany ? kSteps : 1;
  const int64_t block = kernel_.lanes * steps;
  const std::string type = type_of_number(count);
  const std::string first = str_cat(type, "(td_block()) * ", block, " + td_thread()");
  std::vector<Writer::Scope> scopes;
  if (steps > 1) {
    writer_->line(str_cat("const ", type, " first = ", first, ";"));
    writer_->line("#pragma unroll");
    scopes.push_back(writer_->open(for_head("int", "k0", "0", str_cat(steps), "1")));
    writer_->line(str_cat("const ", type, " n = first + k0 * ", kernel_.lanes, ";"));
  } else {
    writer_->line(str_cat("const ", type, " n = ", first, ";"));
  }
  if (mod(count, block) != SymExpr(0))
    writer_->line(str_cat("if (n >= ", names_.index(count), ") return;"));
  std::vector<std::string> names;
  for (size_t k = 0; k < loops.size(); ++k) names.push_back(var('i', static_cast<int>(k)).str());
  if (map.head) names.back() = "piece";
  decode(loops, names, pieces, map.head ? 1 : map.width);
  for (size_t k = 0; k + 1 < loops.size(); ++k) enter(*loops[k]);
  const Values::Named hoisted = hoist(*loops.back());
  const std::string name = enter(*loops.back());
  if (map.head) {
    name_head(map);
    {
      auto scope = writer_->open(str_cat("if (const ", index_, " ", name, " = head + piece * ",
                                         map.width, "; ", name, " < ",
                                         names_.index(map.extent - (map.width - 1)), ")"));
      lane_body(*loops.back(), map.width, hoisted);
    }
    const std::string behind = names_.index(whole);
    auto scope = writer_->open(str_cat("if (const int end = piece - ", behind, "; end >= 0)"));
    auto ends = open_ends(map, name, "end");
    lane_body(*loops.back(), 1, hoisted);
  } else {
    lane_body(*loops.back(), map.width, hoisted);
  }
  for (size_t k = loops.size(); k-- > 0;) leave(*loops[k]);
  return floor_div(count + (block - 1), block);
}

std::string CudaKernel::parameters() const {
  std::vector<std::string> lines;
  for (int b : arguments_.buffers) {
    // What one thread writes and another one reads is not for one thread's pointer alone: told that
    // it is, the compiler moves the read before the barrier.
    const bool written = arguments_.written.contains(b);
    lines.push_back(str_cat(written ? "" : "const ", type_of(b), "* ",
                            shared_.contains(b) ? "" : "__restrict__ ", names_.buffers.at(b)));
  }
  for (size_t i = 0; i < arguments_.sizes.size(); ++i) lines.push_back(str_cat("int64_t s", i));
  for (int b : arguments_.values)
    lines.push_back(str_cat("const td_vec<", type_of(b), ", ",
                            element_count(program_.buffers[b].type).as_constant(), "> ",
                            names_.buffers.at(b)));
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    aten_bridge::str_append(&text, "\n    ", lines[i], i + 1 < lines.size() ? "," : "");
    if (i < arguments_.buffers.size())
      aten_bridge::str_append(&text, "  // ",
                              shape_text(program_.buffers[arguments_.buffers[i]].type));
  }
  return text + "\n";
}

std::vector<const Loop*> CudaKernel::grid_loops() const {
  std::vector<const Loop*> loops;
  const Loop* l = only_loop(kernel_.body);
  for (; l && l->parallel && !divides_among_groups(*l); l = only_loop(l->body)) loops.push_back(l);
  return loops;
}

SymExpr CudaKernel::grid(const std::vector<const Loop*>& loops) {
  const bool together = kernel_.groups == 1 ||
                        starts_divided(loops.empty() ? kernel_.body : loops.back()->body) ||
                        (!loops.empty() && adds_by_place(*loops.back()));
  leader_ = kernel_.groups == 1 ? "td_thread() == 0" : "lane == 0";
  writer_->line(str_cat("const int lane = td_thread()",
                        kernel_.groups == 1 ? "" : str_cat(" % ", kernel_.lanes), ";"));
  if (kernel_.groups > 1)
    writer_->line(str_cat("const int group = td_thread() / ", kernel_.lanes, ";"));
  if (loops.empty()) return 1;
  SymExpr count = 1;
  for (const Loop* l : loops) count = count * l->extent;
  const bool flat = loops.size() == 1;
  const std::string n = flat ? "i0" : "n";
  const std::string type = flat ? index_ : type_of_number(count);
  writer_->line(str_cat("const ", type, " ", n, " = ", type, "(td_block())",
                        together ? "" : str_cat(" * ", kernel_.groups, " + group"), ";"));
  if (!together && mod(count, kernel_.groups) != SymExpr(0))
    writer_->line(str_cat("if (", n, " >= ", names_.index(count), ") return;"));
  std::vector<std::string> names;
  for (const Loop* l : loops) names.push_back(enter(*l));
  if (!flat) decode(loops, names, loops.back()->extent, 1);
  return together ? count : floor_div(count + (kernel_.groups - 1), kernel_.groups);
}

// The loops' variables from the number n; the last one counts so many pieces of this width.
void CudaKernel::decode(const std::vector<const Loop*>& loops,
                        const std::vector<std::string>& names, const SymExpr& pieces, int width) {
  std::string rest = "n";
  for (size_t k = loops.size(); k-- > 0;) {
    const bool is_last = k + 1 == loops.size();
    const bool by_width = is_last && width > 1;
    const std::string extent = str_cat("(", names_.index(is_last ? pieces : loops[k]->extent), ")");
    const std::string widened = index_ == "int" ? "(" : str_cat(index_, "(");
    writer_->line(str_cat("const ", index_, " ", names[k], " = ", by_width ? widened : "", rest,
                          k > 0 ? str_cat(" % ", extent) : "",
                          by_width ? str_cat(") * ", width) : "", ";"));
    rest = str_cat("(", rest, " / ", extent, ")");
  }
}

// Groups that divide the first loop leave the rest to the one that has the sums.
void CudaKernel::block_body(std::span<const Stmt> stmts) {
  if (!starts_divided(stmts) || stmts.size() == 1) return body(stmts);
  body(stmts.first(1));
  auto scope = writer_->open("if (group == 0)");
  body(stmts.subspan(1));
}

void CudaKernel::body(std::span<const Stmt> stmts) {
  declare_locals(stmts);
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  values.plan(roots(stmts));
  for (const Stmt& stmt : stmts) {
    const auto* l = std::get_if<Loop>(&stmt);
    // A loop's body sees to itself; what is computed before a vector loop is part of it.
    if (!l || l->vector) synchronize_before(stmt);
    l ? loop(*l) : uniform_leaf(stmt, values);
  }
}

void CudaKernel::declare_locals(std::span<const Stmt> stmts) {
  const auto it =
      stmts.empty() ? arguments_.locals_of.end() : arguments_.locals_of.find(stmts.data());
  if (it == arguments_.locals_of.end()) return;
  for (int b : it->second) {
    const Buffer& buffer = program_.buffers[b];
    if (names_.variables.contains(b)) {
      declare_variable(stmts, b);
      continue;
    }
    const auto map = maps_.find(element_count(buffer.type));
    TD_CHECK(map != maps_.end() && map->second.is_unrolled(), buffer.name,
             " is local, yet no row that lanes could share");
    writer_->line(
        str_cat(type_of(b), " ", names_.buffers.at(b), "[", map->second.elements(), "];"));
  }
}

void CudaKernel::synchronize_before(const Stmt& stmt) {
  std::vector<int> reads = buffers_read(stmt);
  for_each_stmt({&stmt, 1}, [&](const Stmt& s) {  // it reads what it adds to
    if (const auto* scatter = std::get_if<Scatter>(&s)) reads.push_back(scatter->buffer);
  });
  if (std::none_of(reads.begin(), reads.end(), [&](int b) { return dirty_.contains(b); })) return;
  writer_->line(str_cat("td_sync<", kernel_.lanes, ">();"));
  shared_.insert(dirty_.begin(), dirty_.end());
  dirty_.clear();
}

// A statement outside of vector loops: every lane computes, one writes.
void CudaKernel::uniform_leaf(const Stmt& leaf, Values& values) {
  const int b = written_buffer(leaf);
  const auto write = [&](const SymExpr& index, std::span<const Expr> symbols,
                         const std::string& value) {
    if (names_.variables.contains(b)) {
      if (!define(b, value)) values.store(b, index, symbols, value);
      return;
    }
    auto scope = writer_->open(str_cat("if (", leader_, ")"));
    values.store(b, index, symbols, value);
    dirty_.insert(b);
  };
  std::visit(overloaded{
                 [&](const Store& s) { write(s.index, {}, values.value(s.value)); },
                 [&](const Reduce& r) {
                   const std::string value = values.value(r.value);
                   const auto it = accumulators_.find(&r);
                   if (it == accumulators_.end())  // every loop it reduced over is gone
                     write(r.index, {}, value);
                   else if (it->second.where == Accumulator::Where::kVariable)
                     writer_->line(str_cat(it->second.name, " = ",
                                           combine(r.op, b, 1, it->second.name, value), ";"));
                   else
                     reduce_in_memory(r, values, value);
                 },
                 [&](const Scatter& s) {
                   const std::string value = values.value(s.value);
                   std::string old = values.load(s.buffer, s.index, s.symbol_values);
                   write(s.index, s.symbol_values, combine(s.op, b, 1, std::move(old), value));
                 },
                 [](const auto&) { TD_CHECK(false, "no statement of a kernel's body"); },
             },
             leaf);
}

void CudaKernel::loop(const Loop& l) {
  const std::vector<Reduction> started = reductions_started_by(l, around_);
  for (const Reduction& r : started) begin_reduction(l, r);
  l.vector ? lane_loop(l) : serial_loop(l);
  for (const Reduction& r : started) end_reduction(l, r);
}

void CudaKernel::serial_loop(const Loop& l) {
  const bool divided = divides_among_groups(l) && kernel_.groups > 1;
  const std::string name = enter(l);
  auto scope = writer_->open(for_head(index_, name, divided ? "group" : "0", names_.index(l.extent),
                                      divided ? str_cat(kernel_.groups) : "1"));
  body(l.body);
  leave(l);
}

EmittedKernel emit_cuda(const LoopProgram& program, const Kernel& kernel) {
  return CudaKernel(program, kernel).emit();
}

}  // namespace inductor
