#include "inductor/schedule/traffic.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/cost.h"

namespace inductor {
namespace {

// The elements of one buffer that a kernel touches.
struct Touched {
  std::map<std::string, int64_t> patterns;  // an index, whatever its variables are called: how many
};

// The symbols that decide which element is touched: of the index, and of what it reads from.
std::set<Symbol> symbols_of(const SymExpr& index, std::span<const Expr> symbol_values) {
  std::set<Symbol> symbols;
  const auto add = [&](const SymExpr& e) {
    for (Symbol s : e.symbols()) symbols.insert(s);
  };
  add(index);
  for_each_node(symbol_values, [&](Expr e) {
    if (e.op() == ScalarOp::load || e.op() == ScalarOp::index) add(e.index());
  });
  return symbols;
}

// Adds the elements at `index` over the loops around it.
void touch(Touched& touched, const SymExpr& index, std::span<const Expr> symbol_values,
           Loops around) {
  const std::set<Symbol> symbols = symbols_of(index, symbol_values);
  std::vector<const Loop*> loops;
  for (const Loop* loop : around)
    if (symbols.count(loop->var)) loops.push_back(loop);
  std::stable_sort(loops.begin(), loops.end(), [&](const Loop* a, const Loop* b) {
    return index.coefficient(a->var).value_or(0) > index.coefficient(b->var).value_or(0);
  });
  int64_t count = 1;
  SymbolMap names;
  std::string extents;
  for (const Loop* loop : loops) {
    names[loop->var] = SymExpr::symbol({'i', static_cast<int32_t>(names.size())});
    extents += loop->extent.str() + " ";
    count *= trip_count(*loop);
  }
  touched.patterns.emplace(extents + index.substitute(names).str(), count);
}

class Count {
 public:
  explicit Count(const LoopProgram& program) : program_(program) {}

  void see(Loops around, const Stmt& leaf) {
    const std::vector<Expr> roots = expressions(leaf);
    for_each_node(roots, [&](Expr e) {
      if (e.op() == ScalarOp::load) touch(read_[e.buffer()], e.index(), e.args(), around);
    });
    std::vector<Expr> places;
    if (const auto* scatter = std::get_if<Scatter>(&leaf)) places = scatter->symbol_values;
    const int buffer = written_buffer(leaf);
    touch(written_[buffer], written_index(leaf), places, around);
    if (!std::holds_alternative<Scatter>(leaf)) made_.insert(buffer);
  }

  Traffic total() const {
    Traffic traffic;
    for (const auto& [buffer, touched] : read_)
      if (!written_.count(buffer)) traffic.read += bytes(buffer, touched);
    for (const auto& [buffer, touched] : written_) {
      traffic.written += bytes(buffer, touched);
      if (!made_.count(buffer)) traffic.read += bytes(buffer, touched);
    }
    return traffic;
  }

 private:
  int64_t bytes(int b, const Touched& touched) const {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.role == BufferRole::kLocal) return 0;
    int64_t elements = 0;
    for (const auto& [pattern, count] : touched.patterns) elements += count;
    const auto all = aten_bridge::element_count(buffer.type).constant();
    if (all) elements = std::min(elements, *all);
    return elements * aten_bridge::size_in_bytes(buffer.type.dtype);
  }

  const LoopProgram& program_;
  std::map<int, Touched> read_, written_;
  std::set<int> made_;  // not only added to
};

}  // namespace

Traffic traffic(const LoopProgram& program, const Kernel& kernel) {
  Count count(program);
  for_each_leaf(kernel.body, [&](Loops around, const Stmt& leaf) { count.see(around, leaf); });
  return count.total();
}

}  // namespace inductor
