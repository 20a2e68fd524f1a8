#include "inductor/passes/split.h"

#include <algorithm>
#include <optional>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/passes/affine.h"
#include "inductor/passes/leaves.h"

namespace inductor {
namespace {

constexpr size_t kMostParts = 8;
constexpr int kMostCuts = 8;

SymExpr iterations(const FlatNest& nest) {
  SymExpr count = 1;
  for (const Loop& loop : nest.loops) count = count * loop.extent;
  return count;
}

const Store* store_of(const Stmt& stmt) {
  const Stmt* leaf = leaf_of(stmt);
  return leaf ? std::get_if<Store>(leaf) : nullptr;
}

// The same nest in variables of its own.
FlatNest renamed(LoopProgram& program, const Stmt& stmt) {
  FlatNest nest = FlatNest::take(stmt);
  SymbolMap names;
  for (Loop& loop : nest.loops) {
    const Symbol fresh{'i', program.next_var++};
    names[loop.var] = SymExpr::symbol(fresh);
    loop.var = fresh;
  }
  rewrite_leaf(
      nest.leaf, [&](Expr e) { return substitute(program.pool, e, names); },
      [&](const SymExpr& index) { return index.substitute(names); });
  return nest;
}

class Splitter {
 public:
  explicit Splitter(LoopProgram& program)
      : program_(program), readers_(program.buffers.size()), writers_(program.buffers.size()) {
    for (size_t n = 0; n < program.body.size(); ++n) {
      for (int b : buffers_read(program.body[n])) readers_[b].push_back(n);
      for (int b : buffers_written(program.body[n])) writers_[b].push_back(n);
    }
  }

  void run() {
    std::vector<Stmt> body;
    std::vector<std::string> origins;
    const auto keep = [&](Stmt stmt, const std::string& origin) {
      body.push_back(std::move(stmt));
      if (!program_.origins.empty()) origins.push_back(origin);
    };
    for (size_t n = 0; n < program_.body.size(); ++n) {
      const std::string origin = program_.origins.empty() ? "" : program_.origins[n];
      const int whole = concatenation_read_by(n);
      if (auto parts = whole >= 0 ? parts_of(n, whole) : std::nullopt) {
        for (size_t k = 0; k < parts->size(); ++k) {
          const size_t writer = writers_[whole][k];
          keep(std::move((*parts)[k]).rebuild(),
               origin.empty() ? origin : joined_origins(program_.origins[writer], origin));
        }
      } else {
        keep(program_.body[n], origin);
      }
    }
    program_.body = std::move(body);
    program_.origins = std::move(origins);
  }

 private:
  // A buffer that several stores write and that this statement alone reads; -1: none.
  int concatenation_read_by(size_t n) const {
    if (store_of(program_.body[n]) == nullptr) return -1;
    for (int b : buffers_read(program_.body[n])) {
      const auto& writers = writers_[b];
      if (program_.buffers[b].role != BufferRole::kTemporary || readers_[b].size() != 1) continue;
      if (writers.size() < 2 || writers.size() > kMostParts) continue;
      if (std::all_of(writers.begin(), writers.end(), [&](size_t w) { return is_part(w, n); }))
        return b;
    }
    return -1;
  }

  // A store whose value is the same where the reader stands: only scatters change buffers.
  bool is_part(size_t writer, size_t reader) const {
    if (store_of(program_.body[writer]) == nullptr) return false;
    const std::vector<int> inputs = buffers_read(program_.body[writer]);
    for (size_t n = writer; n < reader; ++n) {
      const Stmt* leaf = leaf_of(program_.body[n]);
      if (leaf && std::holds_alternative<Scatter>(*leaf) &&
          std::binary_search(inputs.begin(), inputs.end(), written_buffer(*leaf)))
        return false;
    }
    return true;
  }

  std::optional<std::vector<FlatNest>> parts_of(size_t n, int whole) {
    const FlatNest reader = FlatNest::take(program_.body[n]);
    const std::span<const Expr> all = std::get<Store>(reader.leaf).value.loads();
    std::vector<Expr> found;
    for (Expr load : all)
      if (load.buffer() == whole) found.push_back(load);
    if (found.size() != 1 || !found[0].args().empty()) return std::nullopt;
    SymExpr written = 0;
    std::vector<FlatNest> parts;
    for (size_t w : writers_[whole]) {
      FlatNest part = renamed(program_, program_.body[w]);
      written += iterations(part);
      if (!read_into(part, reader, found[0])) return std::nullopt;
      parts.push_back(std::move(part));
    }
    if (!(written == iterations(reader))) return std::nullopt;
    return parts;
  }

  // Makes of a writer of a part the reader's iterations that read the part.
  bool read_into(FlatNest& part, const FlatNest& reader, Expr load) {
    for (int cuts = 0; cuts < kMostCuts; ++cuts) {
      const auto& store = std::get<Store>(part.leaf);
      const Inversion inversion =
          invert(load.index(), reader.around(), store.index, {}, part.around());
      if (const auto* cut = std::get_if<Cut>(&inversion)) {
        apply_cut(program_, *cut, part);
        continue;
      }
      const auto* at = std::get_if<SymbolMap>(&inversion);
      if (!at || !(load.index().substitute(*at) == store.index)) return false;
      const Expr loaded = substitute(program_.pool, load, *at), made = store.value;
      const auto& use = std::get<Store>(reader.leaf);
      const Expr value = rewrite(program_.pool, substitute(program_.pool, use.value, *at),
                                 [&](Expr e) { return e == loaded ? made : Expr(); });
      part.leaf = Store{use.buffer, use.index.substitute(*at), value};
      return true;
    }
    return false;
  }

  LoopProgram& program_;
  std::vector<std::vector<size_t>> readers_, writers_;  // statements, by buffer
};

}  // namespace

void split_readers(LoopProgram& program) { Splitter(program).run(); }

}  // namespace inductor
