#include "inductor/schedule/variance.h"

#include <algorithm>
#include <optional>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/nest.h"

namespace inductor {
namespace {

constexpr int64_t kMostInRegisters = 32 * 1024;  // elements that a block keeps

struct Sum {
  size_t at;  // in the program's body
  Parts parts;
  const Reduce& reduce() const { return std::get<Reduce>(parts.leaf); }
};

// What a nest adds up; null where it does something else.
const Reduce* sum_in(const Stmt& nest) {
  const Stmt* stmt = &nest;
  while (const auto* loop = std::get_if<Loop>(stmt)) stmt = &loop->body[0];
  const auto* reduce = std::get_if<Reduce>(stmt);
  return reduce && reduce->op == ReduceOp::kSum ? reduce : nullptr;
}

// The buffer that a nest fills with what it makes of another one's elements.
struct Mean {
  int buffer, of;
};
std::optional<Mean> mean_in(const Stmt& nest) {
  const Stmt* stmt = &nest;
  while (const auto* loop = std::get_if<Loop>(stmt)) stmt = &loop->body[0];
  const auto* store = std::get_if<Store>(stmt);
  const std::span<const Expr> read = store ? store->value.loads() : std::span<const Expr>();
  if (read.size() != 1) return std::nullopt;
  return Mean{store->buffer, read[0].buffer()};
}

std::optional<Sum> sum_at(LoopProgram& program, size_t at, const Features& features) {
  Sum sum{at, in_order(program, program.body[at], features)};
  const bool constant = std::all_of(sum.parts.loops.begin(), sum.parts.loops.end(),
                                    [](const Loop& l) { return l.extent.is_constant(); });
  // Loops of one iteration are gone, and with them the last sum.
  if (!constant || !std::holds_alternative<Reduce>(sum.parts.leaf)) return std::nullopt;
  return sum;
}

// (x - w) * (x - w)
struct Square {
  Expr x, w;
};
std::optional<Square> square_of_difference(Expr e) {
  if (e.op() != ScalarOp::mul || e.args()[0] != e.args()[1]) return std::nullopt;
  const Expr difference = e.args()[0];
  if (difference.op() != ScalarOp::sub) return std::nullopt;
  return Square{difference.args()[0], difference.args()[1]};
}

// The variables of `from` as those of `to`, where both are the same loops.
std::optional<SymbolMap> same_loops(const Parts& from, const Parts& to) {
  if (from.loops.size() != to.loops.size()) return std::nullopt;
  SymbolMap map;
  for (size_t k = 0; k < from.loops.size(); ++k) {
    if (from.loops[k].extent != to.loops[k].extent || from.loops[k].kind != to.loops[k].kind)
      return std::nullopt;
    map[from.loops[k].var] = SymExpr::symbol(to.loops[k].var);
  }
  return map;
}

// What makes of `sum` and of `squares`, in the variables of `sum`.
class Rewriter {
 public:
  Rewriter(LoopProgram& program, const Sum& sum, const Sum& squares, int64_t chunks)
      : program_(program), pool_(program.pool), sum_(sum), squares_(squares), chunks_(chunks) {
    dtype_ = program.buffers[sum.reduce().buffer].type.dtype;
    chunk_ = fresh_variable(program);
    SymbolMap first;
    for (const Loop& l : sum.parts.loops) {
      if (l.kind == LoopKind::kReduction) {
        rows_ *= l.extent.as_constant();
        first[l.var] = 0;
      } else {
        place_ = place_ * l.extent + SymExpr::symbol(l.var);
        columns_ = columns_ * l.extent;
      }
    }
    rows_ /= chunks;
    if (chunks > 1) {
      const Loop& outermost = sum.parts.loops[0];
      const int64_t own = outermost.extent.as_constant() / chunks;
      in_chunk_[outermost.var] = SymExpr::symbol(chunk_) * own + SymExpr::symbol(outermost.var);
      first[outermost.var] = SymExpr::symbol(chunk_) * own;
    }
    place_ = SymExpr::symbol(chunk_) * columns_ + place_;
    if (chunks == 1) place_ = place_.substitute({{chunk_, 0}});
    // Not where it is infinite: the sum would be NaN then.
    const Expr v = substitute(pool_, sum.reduce().value, first);
    const Expr zero = pool_.constant(dtype_, 0);
    const Expr finite = pool_.apply(ScalarOp::eq, {pool_.apply(ScalarOp::sub, {v, v}), zero});
    first_ = pool_.apply(ScalarOp::select, {finite, v, zero});
  }

  // p and q.
  std::vector<Stmt> partial_sums() {
    const Expr x = substitute(pool_, sum_.reduce().value, in_chunk_);
    const Expr d = apply(ScalarOp::sub, x, first_);
    p_ = add_buffer(sum_);
    q_ = add_buffer(squares_);
    std::vector<Stmt> made;
    for (const auto& [buffer, value] : {std::pair{p_, d}, {q_, apply(ScalarOp::mul, d, d)}}) {
      Parts parts{sum_.parts.loops, Reduce{buffer, place_, ReduceOp::kSum, value}};
      if (chunks_ > 1) {
        parts.loops[0].extent = parts.loops[0].extent.as_constant() / chunks_;
        parts.loops.insert(parts.loops.begin(), Loop{chunk_, chunks_});
      }
      made.push_back(put_together(std::move(parts)));
    }
    return made;
  }

  Stmt sum_of_all() {
    const Expr n = number(static_cast<double>(rows_));
    return over_chunks(sum_.reduce(), apply(ScalarOp::add, apply(ScalarOp::mul, n, first_), p()));
  }

  // `w`: in the variables of `sum`.
  Stmt squares_of_all(Expr w) {
    const Expr n = number(static_cast<double>(rows_));
    const Expr mean = apply(ScalarOp::div, p(), n);
    const Expr within = apply(ScalarOp::sub, q(), apply(ScalarOp::mul, p(), mean));
    const Expr apart = apply(ScalarOp::sub, apply(ScalarOp::add, first_, mean), w);
    const Expr between = apply(ScalarOp::mul, n, apply(ScalarOp::mul, apart, apart));
    Reduce target = squares_.reduce();
    target.index = sum_.reduce().index;
    return over_chunks(target, apply(ScalarOp::add, within, between));
  }

 private:
  Expr apply(ScalarOp op, Expr a, Expr b) { return pool_.apply(op, {a, b}); }
  Expr number(double value) { return pool_.constant(dtype_, value); }
  Expr p() { return pool_.load(p_, place_, dtype_); }
  Expr q() { return pool_.load(q_, place_, dtype_); }

  int add_buffer(const Sum& of) {
    const Buffer whole = program_.buffers[of.reduce().buffer];  // grows below
    const std::vector<SymExpr> sizes{chunks_, columns_};
    program_.buffers.push_back(
        {aten_bridge::str_cat(whole.name, "_partial"),
         {dtype_, whole.type.device, sizes, aten_bridge::contiguous_strides(sizes)},
         BufferRole::kTemporary});
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  Stmt over_chunks(const Reduce& target, Expr value) {
    Parts parts{{}, Store{target.buffer, target.index, value}};
    if (chunks_ > 1) {
      parts.loops.push_back(Loop{chunk_, chunks_, LoopKind::kReduction});
      parts.leaf = Reduce{target.buffer, target.index, ReduceOp::kSum, value};
    }
    for (const Loop& l : sum_.parts.loops)
      if (l.kind == LoopKind::kSerial) parts.loops.push_back(l);
    return put_together(std::move(parts));
  }

  LoopProgram& program_;
  ExprPool& pool_;
  const Sum& sum_;
  const Sum& squares_;
  int64_t chunks_, rows_ = 1;
  DType dtype_;
  Symbol chunk_;
  SymExpr place_ = 0, columns_ = 1;  // of an element in p and q; how many a chunk has
  SymbolMap in_chunk_;
  Expr first_;
  int p_ = -1, q_ = -1;
};

bool is_worth_it(const Parts& parts, int64_t chunks) {
  if (chunks > 1) return true;
  int64_t reduced = 1;
  for (const Loop& l : parts.loops)
    if (l.kind == LoopKind::kReduction) reduced *= l.extent.constant().value_or(0);
  return reduced > kMostInRegisters;
}

// w in the variables of `sum`, where the squares are of what `sum` adds up: floating numbers, since
// a chunk's mean is a quotient.
std::optional<Expr> mean_of(LoopProgram& program, const Sum& sum, const Sum& squares) {
  const DType dtype = program.buffers[sum.reduce().buffer].type.dtype;
  if (!aten_bridge::is_floating(dtype) ||
      program.buffers[squares.reduce().buffer].type.dtype != dtype)
    return std::nullopt;
  const auto square = square_of_difference(squares.reduce().value);
  const auto map = same_loops(squares.parts, sum.parts);
  if (!square || !map || !(squares.reduce().index.substitute(*map) == sum.reduce().index))
    return std::nullopt;
  if (substitute(program.pool, square->x, *map) != sum.reduce().value) return std::nullopt;
  const Expr w = substitute(program.pool, square->w, *map);
  for (const Loop& l : sum.parts.loops)
    if (l.kind == LoopKind::kReduction && mentions({&w, 1}, l.var)) return std::nullopt;
  return w;
}

}  // namespace

void read_variances_once(LoopProgram& program, const Features& features) {
  // Where what a buffer holds is added up, be it that sum or what was made of it: a mean.
  aten_bridge::HashMap<int, size_t> sums;
  std::vector<std::vector<Stmt>> instead(program.body.size());
  for (size_t i = 0; i < program.body.size(); ++i) {
    const Reduce* reduce = sum_in(program.body[i]);
    if (!reduce) {
      if (const auto mean = mean_in(program.body[i]))
        if (const auto found = sums.find(mean->of); found != sums.end())
          sums[mean->buffer] = found->second;
      continue;
    }
    const auto square = square_of_difference(reduce->value);
    for (Expr load : square ? square->w.loads() : std::span<const Expr>()) {
      const auto found = sums.find(load.buffer());
      if (found == sums.end()) continue;
      const auto sum = sum_at(program, found->second, features);
      const auto squares = sum_at(program, i, features);
      const auto w = sum && squares ? mean_of(program, *sum, *squares) : std::nullopt;
      const int64_t chunks = w ? chunk_count(sum->parts, features) : 1;
      if (!w || !is_worth_it(sum->parts, chunks)) continue;
      Rewriter rewriter(program, *sum, *squares, chunks);
      instead[sum->at] = rewriter.partial_sums();
      instead[sum->at].push_back(rewriter.sum_of_all());
      instead[i].push_back(rewriter.squares_of_all(*w));
      const size_t done = sum->at;
      erase_if(sums, [&](const auto& entry) { return entry.second == done; });
      break;
    }
    sums[reduce->buffer] = i;
  }

  std::vector<Stmt> body;
  std::vector<std::string> origins;
  for (size_t i = 0; i < program.body.size(); ++i) {
    if (instead[i].empty()) instead[i].push_back(std::move(program.body[i]));
    for (Stmt& stmt : instead[i]) {
      body.push_back(std::move(stmt));
      origins.push_back(i < program.origins.size() ? program.origins[i] : "");
    }
  }
  program.body = std::move(body);
  program.origins = std::move(origins);
}

}  // namespace inductor
