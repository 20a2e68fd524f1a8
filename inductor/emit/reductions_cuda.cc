#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cuda_kernel.h"
#include "inductor/ir/follow.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

std::string_view short_name(ReduceOp op) {  // "td_across_sum" -> "sum"
  return across_lanes(op).substr(std::string_view("td_across_").size());
}

// What an extremum and its follower start from, and what of the pair is whose.
struct Pair {
  std::string type, operation, start, before, after;  // before, after: the follower's
};
Pair pair_of(const Following& f, const Reduce& leader, const std::string& element,
             const Dialect& dialect) {
  const DType dtype = leader.value.dtype();
  const std::string least = identity(dialect, leader.op, dtype);
  if (f.what == Following::What::kExponentials)
    return {str_cat("td_exponentials<", element, ">"), "exponentials",
            str_cat("{", least, ", ", dialect.literal(dtype, 0.0), "}"), "td_total(", ")"};
  return {str_cat("td_place<", element, ">"),
          leader.op == ReduceOp::kMax ? "first_max" : "first_min",
          str_cat("{", least, ", td_no_place}"), "", ".place"};
}

}  // namespace

std::string_view CudaKernel::operation_of(const Accumulator& acc, ReduceOp op) {
  return acc.pair.empty() ? short_name(op) : std::string_view(acc.pair);
}

std::string CudaKernel::with(const Accumulator& acc, const std::string& name,
                             const std::string& element, const std::string& place) const {
  return str_cat("td_with_", acc.pair, "(", name, ", ", element, place.empty() ? "" : ", ", place,
                 ")");
}

std::string CudaKernel::across(ReduceOp op, const std::string& value) const {
  return str_cat(across_lanes(op), "<", kernel_.lanes, ">(", value, ")");
}

void CudaKernel::begin_reduction(const Loop& outermost, const Reduction& r) {
  Accumulator& acc = accumulators_[r.reduce];
  const int b = r.reduce->buffer;
  const Loop& innermost = r.inside.empty() ? outermost : *r.inside.back();
  std::string start = identity(dialect_, r.reduce->op, dtype(b));
  std::string type = type_of(b);
  if (const Reduce* leader = leader_of(innermost.body, *r.reduce)) {
    const Accumulator& shared = accumulators_.at(leader);
    const Pair pair = pair_of(*following(*r.reduce, *leader), *leader, "", dialect_);
    acc = {shared.where, shared.name, shared.in_lanes, shared.pair, true, pair.before, pair.after};
    return;
  }
  const Reduce* follower = follower_of(innermost.body, *r.reduce);
  if (follower) {
    const Pair pair = pair_of(*following(*follower, *r.reduce), *r.reduce, type, dialect_);
    type = pair.type;
    start = pair.start;
    acc.pair = pair.operation;
    acc.after = ".most";
  }
  if (r.in_registers) {
    acc.where = Accumulator::Where::kVariable;
    acc.in_lanes = innermost.vector;
    acc.name = str_cat("acc", names_.next_accumulator++);
    writer_->line(str_cat(type, " ", acc.name, " = ", start, ";"));
    return;
  }
  int mentioned = 0;
  for (const Loop* l : r.inside) mentioned += r.reduce->index.mentions(l->var);
  if (innermost.vector && mentioned == 1 && r.reduce->index.mentions(innermost.var) &&
      map_of(innermost).is_unrolled()) {
    acc.where = Accumulator::Where::kRow;
    const LaneMap& map = map_of(innermost);
    if (program_.buffers[b].role == BufferRole::kLocal && !follower) {
      acc.name = names_.buffers.at(b);
    } else {
      acc.name = str_cat("acc", names_.next_accumulator++);
      writer_->line(str_cat(type, " ", acc.name, "[", map.elements(), "];"));
    }
    writer_->line("#pragma unroll");
    auto scope = writer_->open(for_head("int", "k", "0", str_cat(map.elements()), "1"));
    writer_->line(str_cat(acc.name, "[k] = ", start, ";"));
    return;
  }
  TD_CHECK(!follower, "an extremum in memory is followed");
  acc.where = Accumulator::Where::kMemory;
  std::vector<Writer::Scope> scopes;
  std::vector<const Loop*> entered;
  for (const Loop* l : r.inside) {
    if (!r.reduce->index.mentions(l->var)) continue;
    const std::string name = enter(*l);
    entered.push_back(l);
    scopes.push_back(writer_->open(
        l->vector ? for_head(index_, name, "lane", names_.index(l->extent), str_cat(kernel_.lanes))
                  : for_head(index_, name, "0", names_.index(l->extent), "1")));
  }
  writer_->line(
      str_cat(names_.buffers.at(b), "[", names_.index(r.reduce->index), "] = ", start, ";"));
  while (!scopes.empty()) scopes.pop_back();
  for (; !entered.empty(); entered.pop_back()) leave(*entered.back());
  writer_->line(str_cat("td_sync<", kernel_.lanes, ">();"));
  shared_.insert(b);
  dirty_.insert(b);
}

// By the lane that has the element to itself, or by the leader.
void CudaKernel::reduce_in_memory(const Reduce& r, Values& values, const std::string& value) {
  const bool own =
      !around_.empty() && around_.back()->vector && r.index.mentions(around_.back()->var);
  std::vector<Writer::Scope> scope;
  if (!own) scope.push_back(writer_->open(str_cat("if (", leader_, ")")));
  std::string old = values.load(r.buffer, r.index, {});
  values.store(r.buffer, r.index, {}, combine(r.op, r.buffer, 1, std::move(old), value));
  dirty_.insert(r.buffer);
}

// A pair's is named once, for both.
std::string CudaKernel::total(const Loop& outermost, const Reduction& r, const Accumulator& acc) {
  if (acc.follows) return acc.part_of(acc.name);
  const bool among_groups = outermost.parallel && kernel_.groups > 1;
  const std::string_view operation = operation_of(acc, r.reduce->op);
  const std::string threads = str_cat("<", kernel_.lanes, ">(");
  const std::string value =
      acc.in_lanes ? str_cat("td_across_", operation, threads, acc.name, ")") : acc.name;
  const std::string type = acc.pair.empty() ? type_of(r.reduce->buffer) : "auto";
  std::string whole = value;
  if (among_groups) {
    const std::string element = acc.pair.empty() ? type : str_cat("decltype(", acc.name, ")");
    writer_->line(str_cat(element, " ", acc.name, "_all[1] = {", value, "};"));
    writer_->line(str_cat("td_between_", operation, "<", kernel_.lanes, ", ", kernel_.groups, ">(",
                          acc.name, "_all);"));
    whole = str_cat(acc.name, "_all[0]");
  } else if (!acc.pair.empty() || !names_.variables.contains(r.reduce->buffer)) {
    writer_->line(str_cat("const ", type, " ", acc.name, "_all = ", value, ";"));
    whole = str_cat(acc.name, "_all");
  }
  if (!acc.pair.empty()) {
    const Loop& innermost = r.inside.empty() ? outermost : *r.inside.back();
    accumulators_.at(follower_of(innermost.body, *r.reduce)).name = whole;
  }
  return acc.part_of(whole);
}

bool CudaKernel::is_read_behind(const Loop& loop, int local) const {
  const auto it = arguments_.locals_of.find(loop.body.data());
  return it == arguments_.locals_of.end() ||
         std::find(it->second.begin(), it->second.end(), local) == it->second.end();
}

void CudaKernel::end_reduction(const Loop& outermost, const Reduction& r) {
  const auto it = accumulators_.find(r.reduce);
  const Accumulator acc = it->second;
  accumulators_.erase(it);
  const int b = r.reduce->buffer;
  const Loop& innermost = r.inside.empty() ? outermost : *r.inside.back();
  const bool among_groups = outermost.parallel && kernel_.groups > 1;
  if (acc.where == Accumulator::Where::kMemory) return;
  if (acc.where == Accumulator::Where::kRow) {
    if (among_groups && !acc.follows)
      writer_->line(str_cat("td_between_", operation_of(acc, r.reduce->op), "<", kernel_.lanes,
                            ", ", kernel_.groups, ">(", acc.name, ");"));
    if (program_.buffers[b].role != BufferRole::kLocal) return store_row(r, acc, among_groups);
    if (acc.pair.empty() || !is_read_behind(innermost, b)) return;
    writer_->line("#pragma unroll");
    auto scope =
        writer_->open(for_head("int", "k", "0", str_cat(map_of(innermost).elements()), "1"));
    writer_->line(
        str_cat(names_.buffers.at(b), "[k] = ", acc.part_of(str_cat(acc.name, "[k]")), ";"));
    return;
  }
  const std::string value = total(outermost, r, acc);
  if (program_.buffers[b].role == BufferRole::kLocal && !is_read_behind(innermost, b)) return;
  if (names_.variables.contains(b)) {
    if (!define(b, value)) writer_->line(str_cat(names_.buffers.at(b), " = ", value, ";"));
    return;
  }
  auto scope = writer_->open(str_cat("if (", among_groups ? "td_thread() == 0" : leader_, ")"));
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  values.store(b, r.reduce->index, {}, value);
  dirty_.insert(b);
}

// A row of sums from registers to its target: a group's own, or by the first of the groups that
// have the same.
void CudaKernel::store_row(const Reduction& r, const Accumulator& acc, bool of_all_groups) {
  const Loop& l = *r.inside.back();
  const LaneMap& map = map_of(l);
  const int b = r.reduce->buffer;
  std::vector<Writer::Scope> scopes;
  if (of_all_groups) scopes.push_back(writer_->open("if (group == 0)"));
  const std::string name = enter(l);
  for (auto& scope : walk(map, name)) scopes.push_back(std::move(scope));
  const std::string place = row_place(map).str();
  const bool wide = map.width > 1 && map.is_wide(r.reduce->index, l.var);
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  const std::string vector = str_cat("w", next_wide_);
  if (wide) {
    ++next_wide_;
    writer_->line(str_cat("td_vec<", type_of(b), ", ", map.width, "> ", vector, ";"));
  }
  {
    std::vector<Writer::Scope> elements;
    const SymExpr first = names_.symbols.at(l.var);
    if (map.width > 1) {
      writer_->line("#pragma unroll");
      elements.push_back(writer_->open(for_head("int", "l0", "0", str_cat(map.width), "1")));
      names_.symbols[l.var] = first + var('l', 0);
    }
    const std::string value = acc.part_of(str_cat(acc.name, "[", place, "]"));
    if (wide)
      writer_->line(str_cat(vector, "[l0] = ", value, ";"));
    else
      values.store(b, r.reduce->index, {}, value);
    names_.symbols[l.var] = first;
  }
  if (wide)
    writer_->line(str_cat("td_store(", values.pointer(b, r.reduce->index, {}), ", ", vector, ");"));
  while (!scopes.empty()) scopes.pop_back();
  leave(l);
  dirty_.insert(b);
}

}  // namespace inductor
