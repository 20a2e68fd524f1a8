#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cpp_kernel.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/cost.h"

namespace inductor {

using aten_bridge::str_cat;
namespace {

constexpr int64_t kShortestRun = 16;       // iterations
constexpr int64_t kRunOfAny = 64;          // where their number is not known
constexpr int64_t kMostInRow = 32 * 1024;  // elements, on the stack

// How many of n additions are made in order before their sum is added to the result. The errors of
// runs are independent and average out, so that n/run + run^2/n is to be small.
int64_t run_length(std::optional<int64_t> n) {
  if (!n) return kRunOfAny;
  const auto best = static_cast<int64_t>(std::cbrt(0.5 * double(*n) * double(*n)));
  return std::max(kShortestRun, best);
}

// One float that a whole sum runs through loses more than ATen's sums, which go pairwise; vectors
// of floats run a share of it each.
DType running_dtype(ReduceOp op, DType dtype, int width) {
  const bool loses = op == ReduceOp::kSum && dtype == DType::kFloat32 && width == 1;
  return loses ? DType::kFloat64 : dtype;
}

}  // namespace

void CppKernel::begin_reduction(const Loop& outermost, const Reduction& r) {
  Accumulator& acc = accumulators_[r.reduce];
  begun_.push_back(r.reduce);
  const Loop& innermost = r.inside.empty() ? outermost : *r.inside.back();
  acc.dtype = dtype(r.reduce->buffer);
  if (!r.in_registers) {
    const std::string start = identity(dialect_, r.reduce->op, acc.dtype);
    std::vector<const Loop*> choosing;
    for (const Loop* l : r.inside)
      if (r.reduce->index.mentions(l->var)) choosing.push_back(l);
    for_each_element(choosing, [&] {
      writer_->line(str_cat(element(r.reduce->buffer, r.reduce->index), " = ", start, ";"));
    });
    begin_run(outermost, r);
    return;
  }
  acc.name = str_cat("acc", names_.next_accumulator++);
  acc.shape = vector_shape(program_, innermost);
  acc.dtype = running_dtype(r.reduce->op, acc.dtype, acc.shape.width);
  const std::string start = identity(dialect_, r.reduce->op, acc.dtype);
  const std::string scalar = dialect_.type(acc.dtype, 1);
  if (acc.shape.width == 1) {
    writer_->line(str_cat(scalar, " ", acc.name, " = ", start, ";"));
    return;
  }
  const std::string type = dialect_.type(acc.dtype, acc.shape.width);
  const std::string wide = str_cat("td_set<", type, ">(", start, ")");
  if (acc.shape.unroll == 1)
    writer_->line(str_cat(type, " ", acc.name, " = ", wide, ";"));
  else
    writer_->line(str_cat(type, " ", acc.name, "[", acc.shape.unroll, "] = {", wide, ", ", wide,
                          ", ", wide, ", ", wide, "};"));
  if (acc.shape.has_rest) writer_->line(str_cat(scalar, " ", acc.name, "_rest = ", start, ";"));
}

std::string CppKernel::element(int buffer, const SymExpr& index) const {
  return str_cat(names_.buffers.at(buffer), "[", names_.index(index), "]");
}

void CppKernel::for_each_element(std::span<const Loop* const> loops,
                                 const std::function<void()>& write) {
  std::vector<Writer::Scope> scopes;
  for (const Loop* l : loops) {
    const std::string name = enter(*l);
    scopes.push_back(writer_->open(for_head("int64_t", name, "0", names_.index(l->extent), "1")));
  }
  write();
  while (!scopes.empty()) scopes.pop_back();
  for (size_t k = loops.size(); k-- > 0;) leave(*loops[k]);
}

void CppKernel::begin_run(const Loop& outermost, const Reduction& r) {
  Accumulator& acc = accumulators_.at(r.reduce);
  if (r.reduce->op != ReduceOp::kSum || !aten_bridge::is_floating(acc.dtype)) return;
  const auto chooses = [&](const Loop* l) { return r.reduce->index.mentions(l->var); };
  std::vector<const Loop*> over{&outermost};
  std::copy_if(r.inside.begin(), r.inside.end(), std::back_inserter(over), std::not_fn(chooses));
  SymExpr all = 1;
  for (const Loop* l : over) all = all * l->extent;
  const int64_t length = run_length(all.constant());
  if (all.constant().value_or(2 * length) < 2 * length) return;
  // From the inside out, until there are enough additions; an innermost loop is not cut.
  int64_t additions = 1;
  while (over.size() > 1 &&
         (is_innermost(*over.back()) || additions * trip_count(*over.back()) <= length)) {
    additions *= trip_count(*over.back());
    over.pop_back();
  }
  Run run{over.back(), std::max<int64_t>(1, length / additions), {}, 0};
  SymExpr size = 1;
  const auto below = std::find(r.inside.begin(), r.inside.end(), run.loop);
  for (auto l = below == r.inside.end() ? r.inside.begin() : below; l != r.inside.end(); ++l) {
    if (!chooses(*l)) continue;
    run.inside.push_back(*l);
    run.place = run.place * (*l)->extent + SymExpr::symbol((*l)->var);
    size = size * (*l)->extent;
  }
  if (size.constant().value_or(kMostInRow + 1) > kMostInRow) return;
  acc.name = str_cat("acc", names_.next_accumulator++);
  acc.run = std::move(run);
  writer_->line(str_cat("alignas(64) ", dialect_.type(acc.dtype, 1), " ", acc.name, "[", size.str(),
                        "] = {};"));
}

void CppKernel::end_run(const Loop& loop, const Reduce& r) {
  const Accumulator& acc = accumulators_.at(&r);
  if (!acc.run || acc.run->loop != &loop) return;
  std::optional<Writer::Scope> last;
  if (const int64_t n = acc.run->iterations; n > 1) {
    const std::string i = names_.index(SymExpr::symbol(loop.var));
    last.emplace(writer_->open(str_cat("if (", i, " % ", n, " == ", n - 1, " || ", i,
                                       " == ", names_.index(loop.extent - 1), ")")));
  }
  for_each_element(acc.run->inside, [&] {
    const std::string kept = str_cat(acc.name, "[", names_.index(acc.run->place), "]");
    writer_->line(str_cat(element(r.buffer, r.index), " += ", kept, ";"));
    writer_->line(str_cat(kept, " = 0;"));
  });
}

void CppKernel::reduce(const Reduce& r, Values& values, const Piece& piece) {
  const std::string value = values.value(r.value);
  const auto it = accumulators_.find(&r);
  if (it == accumulators_.end()) {  // every loop it reduced over had one iteration
    store(r.buffer, r.index, values, value);
  } else if (it->second.is_in_memory()) {
    const Accumulator& acc = it->second;
    std::string& name = names_.buffers.at(r.buffer);
    const std::string target_name = name;
    if (acc.run) name = acc.name;
    add(r, acc.run ? acc.run->place : r.index, values, piece, value);
    name = target_name;
  } else {
    const std::string name = running(it->second, piece);
    const DType kept = it->second.dtype;
    const bool widens = kept != dtype(r.buffer);
    const std::string added = widens ? dialect_.cast(kept, piece.width, value) : value;
    writer_->line(str_cat(name, " = ", combine(r.op, kept, piece.width, name, added), ";"));
  }
}

void CppKernel::add(const Reduce& r, const SymExpr& index, Values& values, const Piece& piece,
                    const std::string& value) {
  if (piece.width > 1 && !index.mentions(around_.back()->var)) {
    // All lanes reduce into one element.
    const std::string element = this->element(r.buffer, index);
    const std::string lanes = str_cat(across_lanes(r.op), "(", value, ")");
    writer_->line(str_cat(element, " = ", combine(r.op, r.buffer, 1, element, lanes), ";"));
    return;
  }
  const std::string old = values.load(r.buffer, index, {});
  values.store(r.buffer, index, {}, combine(r.op, r.buffer, piece.width, old, value));
}

std::string CppKernel::running(const Accumulator& acc, const Piece& piece) const {
  if (acc.shape.width == 1) return acc.name;
  if (piece.width == 1) return str_cat(acc.name, "_rest");
  if (acc.shape.unroll == 1) return acc.name;
  return str_cat(acc.name, piece.unroll > 1 ? "[u0]" : "[0]");
}

void CppKernel::end_reduction(const Reduction& r) {
  const auto it = accumulators_.find(r.reduce);
  const Accumulator acc = it->second;
  accumulators_.erase(it);
  std::erase(begun_, r.reduce);
  if (acc.is_in_memory()) return;
  const auto join = [&](int width, std::string a, std::string b) {
    return combine(r.reduce->op, acc.dtype, width, std::move(a), std::move(b));
  };
  std::string text = acc.name;
  if (acc.shape.unroll > 1)
    text = join(acc.shape.width, join(acc.shape.width, text + "[0]", text + "[1]"),
                join(acc.shape.width, text + "[2]", text + "[3]"));
  if (acc.shape.width > 1) text = str_cat(across_lanes(r.reduce->op), "(", text, ")");
  if (acc.shape.has_rest) text = join(1, text, acc.name + "_rest");
  const DType result = dtype(r.reduce->buffer);
  if (acc.dtype != result) text = dialect_.cast(result, 1, text);
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  store(r.reduce->buffer, r.reduce->index, values, text);
}

}  // namespace inductor
