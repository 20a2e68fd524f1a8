#include "inductor/passes/inline.h"

#include <algorithm>
#include <set>

#include "aten_bridge/base/verdict.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/visit.h"
#include "inductor/passes/affine.h"
#include "inductor/passes/leaves.h"
#include "inductor/passes/order.h"

namespace inductor {
namespace {

using aten_bridge::Verdict;

// Additions' worth of work that may be done again for each reader: a division, a few steps.
constexpr int kCheap = 8;
// Nodes of one nest's expression: beyond this, registers spill and compilers slow down.
constexpr size_t kLargestExpression = 256;
constexpr int kGatherCost = 4;
constexpr int kMostCuts = 8;

struct Producer {
  size_t at;  // in body
  int buffer;
  FlatNest nest;
  Expr value;
  SymExpr index;
};

int cost_of(Expr value) {
  int cost = 0;
  for_each_node({&value, 1}, [&](Expr e) {
    if (is_in_table(e.op())) cost += row(e.op()).cost;
    if (e.op() == ScalarOp::cast) cost += 1;
    if (e.op() == ScalarOp::load && !e.args().empty()) cost += kGatherCost;
  });
  return cost;
}

size_t size_of(std::span<const Expr> roots) {
  size_t nodes = 0;
  for_each_node(roots, [&](Expr) { ++nodes; });
  return nodes;
}

SymExpr iterations(const FlatNest& nest) {
  SymExpr count = 1;
  for (const Loop& loop : nest.loops) count = count * loop.extent;
  return count;
}

// How many of its loads are as large as the result; those of a row or of one element are small.
size_t full_inputs(const Producer& p) {
  const std::span<const Expr> all = p.value.loads();
  return std::count_if(all.begin(), all.end(), [&](Expr load) {
    return std::all_of(p.nest.loops.begin(), p.nest.loops.end(),
                       [&](const Loop& loop) { return load.index().mentions(loop.var); });
  });
}

std::vector<Expr> loads_of(const Stmt& leaf, int buffer) {
  std::vector<Expr> found;
  for_each_node(expressions(leaf), [&](Expr e) {
    if (e.op() == ScalarOp::load && e.buffer() == buffer) found.push_back(e);
  });
  return found;
}

bool mentions_run_time_value(const SymExpr& e) {
  const auto symbols = e.symbols();
  return std::any_of(symbols.begin(), symbols.end(), [](Symbol s) { return s.kind == 't'; });
}

// The producer's value at an element that the reader loads, in the reader's variables; null where
// the reader's run-time values would have to enter what cannot hold them.
Expr value_at(ExprPool& pool, Expr value, const SymbolMap& at,
              std::span<const Expr> symbol_values) {
  bool possible = true;
  const Expr result = rewrite(pool, value, [&](Expr e) -> Expr {
    if (e.op() != ScalarOp::load && e.op() != ScalarOp::index) return {};
    const SymExpr index = e.index().substitute(at);
    const bool own = e.op() == ScalarOp::load && !e.args().empty();
    const bool readers = !own && mentions_run_time_value(index);
    if (e.op() == ScalarOp::index) {
      possible &= !readers;
      return readers ? e : pool.index(index);
    }
    if (own) {
      for (const auto& [var, expr] : at)
        if (e.index().mentions(var) && mentions_run_time_value(expr)) possible = false;
      return pool.load(e.buffer(), index, e.dtype(), {e.args().begin(), e.args().end()});
    }
    std::vector<Expr> values;
    if (readers) values.assign(symbol_values.begin(), symbol_values.end());
    return pool.load(e.buffer(), index, e.dtype(), std::move(values));
  });
  return possible ? result : Expr();
}

// Which statements read and write each buffer, kept up to date while statements change.
class Accesses {
 public:
  explicit Accesses(const LoopProgram& program)
      : program_(program),
        reads_(program.body.size()),
        readers_(program.buffers.size()),
        writers_(program.buffers.size()) {
    for (size_t n = 0; n < program.body.size(); ++n) {
      for (int buffer : buffers_written(program.body[n])) writers_[buffer].push_back(n);
      update(n);
      const Stmt* leaf = leaf_of(program.body[n]);
      if (leaf && std::holds_alternative<Scatter>(*leaf)) scatters_.push_back(n);
    }
  }

  void update(size_t statement) {
    drop(statement);
    reads_[statement] = buffers_read(program_.body[statement]);
    for (int buffer : reads_[statement]) readers_[buffer].insert(statement);
  }
  // A statement that will go away reads nothing.
  void drop(size_t statement) {
    for (int buffer : reads_[statement]) readers_[buffer].erase(statement);
    reads_[statement].clear();
  }

  const std::vector<int>& reads(size_t statement) const { return reads_[statement]; }
  const std::set<size_t>& readers(int buffer) const { return readers_[buffer]; }
  const std::vector<size_t>& writers(int buffer) const { return writers_[buffer]; }
  const std::vector<size_t>& scatters() const { return scatters_; }

 private:
  const LoopProgram& program_;
  std::vector<std::vector<int>> reads_;
  std::vector<std::set<size_t>> readers_;
  std::vector<std::vector<size_t>> writers_;
  std::vector<size_t> scatters_;
};

class Inliner {
 public:
  explicit Inliner(LoopProgram& program) : program_(program), accesses_(program) {}

  void run() {
    for (size_t at = 0; at < program_.body.size(); ++at) {
      std::optional<Producer> producer = producer_at(at);
      if (!producer) continue;
      const auto& readers = accesses_.readers(producer->buffer);
      if (!readers.empty() && worth_it(*producer, readers)) inline_into(*producer, readers);
    }
  }

 private:
  using Readers = std::set<size_t>;

  // A store that alone writes a temporary buffer which only nests read.
  std::optional<Producer> producer_at(size_t at) const {
    const Stmt* leaf = leaf_of(program_.body[at]);
    const Store* store = leaf ? std::get_if<Store>(leaf) : nullptr;
    if (!store || program_.buffers[store->buffer].role != BufferRole::kTemporary) return {};
    if (accesses_.writers(store->buffer).size() != 1) return {};
    for (size_t reader : accesses_.readers(store->buffer))
      if (!leaf_of(program_.body[reader])) return {};
    return Producer{at, store->buffer, FlatNest::take(program_.body[at]), store->value,
                    store->index};
  }

  Verdict worth_it(const Producer& p, const Readers& readers) const {
    const int cost = cost_of(p.value);
    const size_t inputs = full_inputs(p);
    const SymExpr once = iterations(p.nest);
    SymExpr reads = 0;
    for (size_t n : readers) {
      const FlatNest reader = FlatNest::take(program_.body[n]);
      const auto uses = static_cast<int64_t>(loads_of(reader.leaf, p.buffer).size());
      reads += uses * iterations(reader);
      if (size_of(expressions(reader.leaf)) + size_of({&p.value, 1}) > kLargestExpression)
        return Verdict::no("the expression would be too large");
      if (Verdict v = unchanged_between(p, n); !v) return v;
    }
    // One reader, or several that each read a part: nothing is computed again.
    if (reads == once ||
        (reads.is_constant() && once.is_constant() && reads.as_constant() <= once.as_constant()))
      return Verdict::yes();
    if (cost > kCheap) return Verdict::no("too expensive to compute again");
    if (inputs > 1) return Verdict::no("reading its inputs costs more than reading it");
    return Verdict::yes();
  }

  // What the producer reads is still the same where the reader runs: only scatters change buffers.
  Verdict unchanged_between(const Producer& p, size_t reader) const {
    const std::vector<int>& inputs = accesses_.reads(p.at);
    for (size_t n : accesses_.scatters()) {
      if (n < p.at || n >= reader) continue;
      const int target = written_buffer(*leaf_of(program_.body[n]));
      if (std::binary_search(inputs.begin(), inputs.end(), target))
        return Verdict::no("what it reads is scattered into before the reader");
    }
    return Verdict::yes();
  }

  // Into all readers or none: the buffer goes away, or nothing is won.
  void inline_into(const Producer& p, const Readers& readers) {
    std::vector<std::pair<size_t, FlatNest>> changed;
    for (size_t n : readers) {
      changed.emplace_back(n, FlatNest::take(program_.body[n]));
      if (!replace_loads(p, changed.back().second)) return;
    }
    for (auto& [n, nest] : changed) {
      order_loops(program_, nest);  // it may be a producer next: with as few loops as can be
      program_.body[n] = std::move(nest).rebuild();
      accesses_.update(n);
      if (!program_.origins.empty())
        program_.origins[n] = joined_origins(program_.origins[p.at], program_.origins[n]);
    }
    accesses_.drop(p.at);
  }

  bool replace_loads(const Producer& p, FlatNest& reader) {
    for (int cuts = 0;;) {
      const std::vector<Expr> found = loads_of(reader.leaf, p.buffer);
      if (found.empty()) return true;
      const Expr load = found.front();
      const Inversion inversion =
          depends_on_loops(p)
              ? invert(p.index, p.nest.around(), load.index(), load.args(), reader.around())
              : Inversion(SymbolMap());
      if (const auto* cut = std::get_if<Cut>(&inversion)) {
        if (++cuts > kMostCuts) return false;
        apply_cut(program_, *cut, reader);
        continue;
      }
      const auto* at = std::get_if<SymbolMap>(&inversion);
      if (!at) return false;
      const Expr value = value_at(program_.pool, p.value, *at, load.args());
      if (!value) return false;
      rewrite_leaf(
          reader.leaf,
          [&](Expr root) {
            return rewrite(program_.pool, root, [&](Expr e) { return e == load ? value : Expr(); });
          },
          [](const SymExpr& index) { return index; });
    }
  }

  // A fill's value is the same everywhere.
  static bool depends_on_loops(const Producer& p) {
    bool depends = false;
    for_each_node({&p.value, 1}, [&](Expr e) {
      if (e.op() != ScalarOp::load && e.op() != ScalarOp::index) return;
      for (const Loop& loop : p.nest.loops) depends |= e.index().mentions(loop.var);
    });
    return depends;
  }

  LoopProgram& program_;
  Accesses accesses_;
};

}  // namespace

void inline_producers(LoopProgram& program) { Inliner(program).run(); }

}  // namespace inductor
