#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cuda_kernel.h"
#include "inductor/emit/hoist.h"
#include "inductor/ir/follow.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

// Whether an index goes on by `step` from each iteration to the next, `group` of them from a
// multiple of it on.
bool goes_on(const SymExpr& index, Symbol var, int group, int64_t step) {
  const SymExpr first = SymExpr::symbol(var) * group;
  const SymExpr base = index.substitute({{var, first}});
  for (int k = 1; k < group; ++k)
    if (index.substitute({{var, first + k}}) != base + k * step) return false;
  return true;
}

// Whether a random number and those of the next iterations are of one call, from its first one on.
bool is_of_one_call(Expr e, Symbol var, int group) {
  const Expr place = e.args()[2];
  if (place.op() != ScalarOp::index || !goes_on(place.index(), var, group, 1)) return false;
  const SymExpr first = place.index().substitute({{var, SymExpr::symbol(var) * group}});
  if (mod(first, 4) != SymExpr(0)) return false;
  bool same = true;
  for_each_node({e.args().data(), 2}, [&](Expr part) {
    if (part.op() == ScalarOp::index) same &= goes_on(part.index(), var, group, 0);
    if (part.op() == ScalarOp::load) same &= !part.index().mentions(var);
  });
  return same;
}

}  // namespace

const LaneMap& CudaKernel::map_of(const Loop& vector_loop) const {
  return maps_.at(vector_loop.extent);
}

std::vector<Writer::Scope> CudaKernel::walk(const LaneMap& map, const std::string& name) {
  std::vector<Writer::Scope> scopes;
  const SymExpr end = map.head ? map.extent - (map.width - 1) : map.extent;  // of whole pieces
  const std::string extent = names_.index(end), lanes = str_cat(kernel_.lanes);
  const std::string by_width = map.width > 1 ? str_cat(" * ", map.width) : "";
  const std::string head = map.head ? "head + " : "";
  if (!map.is_unrolled()) {
    scopes.push_back(writer_->open(for_head(index_, name, str_cat(head, "lane", by_width), extent,
                                            str_cat(kernel_.lanes * map.width))));
    return scopes;
  }
  std::string first = "lane";
  if (*map.chunks > 1) {
    writer_->line("#pragma unroll");
    scopes.push_back(writer_->open(for_head("int", "k0", "0", str_cat(*map.chunks), "1")));
    first = str_cat("(k0 * ", lanes, " + lane)");
  }
  const std::string line = str_cat("const ", index_, " ", name, " = ", head, first, by_width, ";");
  if (map.is_exact) {
    if (scopes.empty()) scopes.push_back(writer_->open(""));
    writer_->line(line);
  } else {
    scopes.push_back(writer_->open(str_cat("if (", line, " ", name, " < ", extent, ")")));
  }
  return scopes;
}

void CudaKernel::name_head(const LaneMap& map) {
  writer_->line(str_cat("const ", index_, " head = ", names_.index(*map.head), ";"));
}

// The lanes before the head's end have the first elements, the next ones the last.
Writer::Scope CudaKernel::open_ends(const LaneMap& map, const std::string& name,
                                    const std::string& lane) {
  const std::string extent = names_.index(map.extent);
  return writer_->open(str_cat("if (const ", index_, " ", name, " = ", lane, " < head ? ", lane,
                               " : ", lane, " + (", extent, " - head) / ", map.width, " * ",
                               map.width, "; ", name, " < ", extent, ")"));
}

void CudaKernel::set_places(const Loop& l, const std::optional<SymExpr>& place) {
  if (!map_of(l).is_unrolled()) return;
  for (const auto& [b, name] : names_.buffers) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.role != BufferRole::kLocal || names_.variables.contains(b)) continue;
    if (element_count(buffer.type) != l.extent) continue;
    if (place)
      names_.places[b] = *place;
    else
      names_.places.erase(b);
  }
}

void CudaKernel::lane_loop(const Loop& l) {
  const LaneMap& map = map_of(l);
  const Values::Named hoisted = hoist(l);
  // Reductions into memory gather each lane's part first.
  std::vector<const Reduce*> parts;
  for (const Stmt& leaf : l.body) {
    const auto* r = std::get_if<Reduce>(&leaf);
    const auto it = r ? accumulators_.find(r) : accumulators_.end();
    if (it == accumulators_.end() || it->second.where != Accumulator::Where::kMemory) continue;
    if (r->index.mentions(l.var)) continue;
    it->second.name = str_cat("acc", names_.next_accumulator++);
    writer_->line(str_cat(type_of(r->buffer), " ", it->second.name, " = ",
                          identity(dialect_, r->op, dtype(r->buffer)), ";"));
    parts.push_back(r);
  }
  {
    const std::string name = enter(l);
    std::vector<Writer::Scope> row;
    if (map.head) {
      row.push_back(writer_->open(""));
      name_head(map);
    }
    {
      auto scopes = walk(map, name);
      if (map.is_unrolled()) set_places(l, row_place(map));
      lane_body(l, map.width, hoisted);
      while (!scopes.empty()) scopes.pop_back();
    }
    if (map.head) {
      auto ends = open_ends(map, name, "lane");
      if (map.is_unrolled()) set_places(l, map.elements() - 1);
      lane_body(l, 1, hoisted);
    }
    set_places(l, std::nullopt);
    leave(l);
  }
  for (const Reduce* r : parts) {
    Accumulator& acc = accumulators_.at(r);
    Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
    const std::string total = across(r->op, acc.name);
    writer_->line(str_cat("const ", type_of(r->buffer), " ", acc.name, "_all = ", total, ";"));
    reduce_in_memory(*r, values, str_cat(acc.name, "_all"));
    acc.name.clear();
  }
}

void CudaKernel::lane_body(const Loop& l, int width, const Values::Named& hoisted) {
  const LaneMap& map = map_of(l);
  const std::vector<Expr> all = computed(l.body);
  Values::Named named = hoisted;
  if (width == 1) {
    Values values(program_, names_, dialect_, *writer_, {1, l.var}, named);
    values.plan(all);
    for (const Stmt& leaf : l.body) lane_leaf(leaf, values);
    return;
  }
  HashSet<int> written;
  for (const Stmt& leaf : l.body) written.insert(written_buffer(leaf));
  const auto in_memory = [&](int b) { return program_.buffers[b].role != BufferRole::kLocal; };

  // What the lane reads at once, before its elements one by one.
  Values wide(program_, names_, dialect_, *writer_, {1, l.var}, hoisted);
  for_each_node(all, [&](Expr e) {
    if (e.op() != ScalarOp::load || !in_memory(e.buffer()) || written.contains(e.buffer())) return;
    if (named.contains(e.node()) || !map.is_wide(e.index(), l.var)) return;
    if (mentions(e.args(), l.var)) return;  // each element is somewhere else
    const std::string name = str_cat("v", next_wide_++);
    writer_->line(str_cat("const td_vec<", type_of(e.buffer()), ", ", width, "> ", name,
                          " = td_load<", width, ">(", wide.pointer(e.buffer(), e.index(), e.args()),
                          ");"));
    named[e.node()] = str_cat(name, "[l0]");
  });
  // Random numbers that one call gives.
  const int group = std::min(width, 4);
  for_each_node(all, [&](Expr e) {
    if (e.op() != ScalarOp::philox || named.contains(e.node())) return;
    if (!is_of_one_call(e, l.var, group)) return;
    const std::string name = str_cat("v", next_wide_++);
    writer_->line(str_cat("td_vec<int64_t, ", width, "> ", name, ";"));
    writer_->line("#pragma unroll");
    auto scope = writer_->open(for_head("int", "l0", "0", str_cat(width), str_cat(group)));
    const SymExpr first = names_.symbols.at(l.var);
    names_.symbols[l.var] = first + var('l', 0);
    Values values(program_, names_, dialect_, *writer_, {1, l.var}, named);
    values.plan(e.args());
    std::string args;
    for (Expr arg : e.args()) aten_bridge::str_append(&args, ", ", values.value(arg));
    writer_->line(str_cat("td_philox_row<", group, ">(", name, ", l0", args, ");"));
    names_.symbols[l.var] = first;
    named[e.node()] = str_cat(name, "[l0]");
  });
  // A wide store comes last: what uses the buffer in between would not see it.
  const auto is_used_again = [&](int b) {
    return std::any_of(l.body.begin(), l.body.end(), [&](const Stmt& other) {
      const std::vector<int> reads = buffers_read(other);
      return std::binary_search(reads.begin(), reads.end(), b) ||
             (written_buffer(other) == b && !std::holds_alternative<Store>(other));
    });
  };
  for (const Stmt& leaf : l.body) {
    const auto* store = std::get_if<Store>(&leaf);
    if (!store || !in_memory(store->buffer) || !map.is_wide(store->index, l.var)) continue;
    if (is_used_again(store->buffer)) continue;
    const std::string name = str_cat("w", next_wide_++);
    writer_->line(str_cat("td_vec<", type_of(store->buffer), ", ", width, "> ", name, ";"));
    wide_stores_[&leaf] = name;
  }
  // The exponents of a running sum, from which its maximum is taken first.
  for (const Stmt& leaf : l.body) {
    const auto* reduce = std::get_if<Reduce>(&leaf);
    const auto it = reduce ? accumulators_.find(reduce) : accumulators_.end();
    if (it == accumulators_.end() || !it->second.follows) continue;
    if (it->second.pair != "exponentials" || it->second.where != Accumulator::Where::kVariable)
      continue;
    const std::string name = str_cat("w", next_wide_++);
    writer_->line(str_cat("td_vec<", type_of(reduce->buffer), ", ", width, "> ", name, ";"));
    wide_stores_[&leaf] = name;
  }
  {
    writer_->line("#pragma unroll");
    auto scope = writer_->open(for_head("int", "l0", "0", str_cat(width), "1"));
    const SymExpr first = names_.symbols.at(l.var);
    names_.symbols[l.var] = first + var('l', 0);
    Values values(program_, names_, dialect_, *writer_, {1, l.var}, named);
    values.plan(all);
    for (const Stmt& leaf : l.body) lane_leaf(leaf, values);
    names_.symbols[l.var] = first;
  }
  for (const Stmt& leaf : l.body) {
    const auto it = wide_stores_.find(&leaf);
    if (it == wide_stores_.end()) continue;
    if (const auto* store = std::get_if<Store>(&leaf)) {
      writer_->line(str_cat("td_store(", wide.pointer(store->buffer, store->index, {}), ", ",
                            it->second, ");"));
    } else {
      const Accumulator& acc = accumulators_.at(&std::get<Reduce>(leaf));
      writer_->line(str_cat(acc.name, " = ", with(acc, acc.name, it->second, ""), ";"));
    }
    wide_stores_.erase(it);
  }
}

// An extremum and its follower go on together, where the follower stands.
void CudaKernel::follow(const Stmt& leaf, const Accumulator& acc, Values& values) {
  if (!acc.follows) return;
  const Loop& loop = *around_.back();
  const auto& reduce = std::get<Reduce>(leaf);
  const Following f = *following(reduce, *leader_of(loop.body, reduce));
  const std::string element = values.value(f.element);
  if (const auto wide = wide_stores_.find(&leaf); wide != wide_stores_.end())
    return writer_->line(str_cat(wide->second, "[l0] = ", element, ";"));
  const std::string place = f.place ? values.value(f.place) : "";
  const bool is_row = acc.where == Accumulator::Where::kRow;
  const std::string name =
      is_row ? str_cat(acc.name, "[", row_place(map_of(loop)).str(), "]") : acc.name;
  writer_->line(str_cat(name, " = ", with(acc, name, element, place), ";"));
}

void CudaKernel::lane_leaf(const Stmt& leaf, Values& values) {
  const int b = written_buffer(leaf);
  if (program_.buffers[b].role != BufferRole::kLocal) dirty_.insert(b);
  std::visit(overloaded{
                 [&](const Store& s) {
                   const std::string value = values.value(s.value);
                   const auto wide = wide_stores_.find(&leaf);
                   if (wide != wide_stores_.end())
                     writer_->line(str_cat(wide->second, "[l0] = ", value, ";"));
                   else
                     values.store(s.buffer, s.index, {}, value);
                 },
                 [&](const Reduce& r) {
                   const auto it = accumulators_.find(&r);
                   if (it != accumulators_.end() && !it->second.pair.empty())
                     return follow(leaf, it->second, values);
                   const std::string value = values.value(r.value);
                   if (it == accumulators_.end()) return values.store(r.buffer, r.index, {}, value);
                   if (it->second.where == Accumulator::Where::kMemory && it->second.name.empty())
                     return reduce_in_memory(r, values, value);
                   std::string name = it->second.name;
                   if (it->second.where == Accumulator::Where::kRow)
                     name = str_cat(name, "[", row_place(map_of(*around_.back())).str(), "]");
                   writer_->line(str_cat(name, " = ", combine(r.op, b, 1, name, value), ";"));
                 },
                 [&](const Scatter& s) {
                   const std::string value = values.value(s.value);
                   if (!scattered_row_.empty()) {
                     const std::string at = str_cat(scattered_row_, "[",
                                                    row_place(map_of(*around_.back())).str(), "]");
                     writer_->line(str_cat(at, " = ", combine(s.op, b, 1, at, value), ";"));
                     return;
                   }
                   std::string old = values.load(s.buffer, s.index, s.symbol_values);
                   values.store(s.buffer, s.index, s.symbol_values,
                                combine(s.op, b, 1, std::move(old), value));
                 },
                 [](const auto&) { TD_CHECK(false, "no statement of a kernel's body"); },
             },
             leaf);
}

}  // namespace inductor
