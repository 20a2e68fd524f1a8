#include "absl/strings/str_join.h"

#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cuda_kernel.h"

namespace inductor {

using aten_bridge::str_cat;

std::string CudaKernel::reaches(const Scatter& s, const Loop& l, const SymExpr& name) {
  const SymExpr own = names_.symbols.at(l.var);
  names_.symbols[l.var] = name;
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  values.plan(s.symbol_values);
  std::vector<std::string> equal;
  for (size_t k = 0; k < s.symbol_values.size(); ++k)
    equal.push_back(str_cat(values.value(s.symbol_values[k]), " == p", k));
  names_.symbols[l.var] = own;
  return absl::StrJoin(equal, " && ");
}

// Sums by place without atomics, in the same order on every run. A block has one iteration.
void CudaKernel::add_by_place(const Loop& l) {
  const auto& row = std::get<Loop>(l.body[0]);
  const auto& s = std::get<Scatter>(row.body[0]);
  const LaneMap& map = map_of(row);
  const std::string own = names_.symbols.at(l.var).str(), extent = names_.index(l.extent);
  const std::string lanes = str_cat(kernel_.lanes);
  const std::string threads = str_cat(kernel_.lanes * kernel_.groups);
  const SymExpr other = var('q', 0);
  {
    Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
    values.plan(s.symbol_values);
    for (size_t k = 0; k < s.symbol_values.size(); ++k)
      writer_->line(str_cat("const int64_t p", k, " = ", values.value(s.symbol_values[k]), ";"));
  }
  writer_->line("bool earlier = false;");
  {
    auto scope = writer_->open(for_head(index_, "q0", "td_thread()", own, threads));
    writer_->line(str_cat("earlier = earlier || (", reaches(s, l, other), ");"));
  }
  writer_->line(str_cat("if (td_across_max<", threads, ">(earlier)) return;"));

  scattered_row_ = str_cat("acc", names_.next_accumulator++);
  const int64_t elements = *map.chunks * map.width;
  writer_->line(str_cat(type_of(s.buffer), " ", scattered_row_, "[", elements, "];"));
  writer_->line("#pragma unroll");
  {
    auto scope = writer_->open(for_head("int", "k0", "0", str_cat(elements), "1"));
    writer_->line(
        str_cat(scattered_row_, "[k0] = ", identity(dialect_, s.op, dtype(s.buffer)), ";"));
  }
  {
    // As many at a time as there are lanes to look.
    auto some = writer_->open(
        for_head(index_, "b0", str_cat(own, " + ", lanes, " * group"), extent, threads));
    writer_->line("bool meets = false;");
    {
      auto scope =
          writer_->open(str_cat("if (const ", index_, " q0 = b0 + lane; q0 < ", extent, ")"));
      writer_->line(str_cat("meets = ", reaches(s, l, other), ";"));
    }
    writer_->line(str_cat("if (!", across(ReduceOp::kMax, "meets"), ") continue;"));
    auto each = writer_->open(
        str_cat("for (", index_, " q0 = b0; q0 < min(", extent, ", b0 + ", lanes, "); ++q0)"));
    writer_->line(str_cat("if (!(", reaches(s, l, other), ")) continue;"));
    const SymExpr mine = names_.symbols.at(l.var);
    names_.symbols[l.var] = other;
    lane_loop(row);
    names_.symbols[l.var] = mine;
  }

  writer_->line(str_cat("td_between_",
                        across_lanes(s.op).substr(std::string_view("td_across_").size()), "<",
                        kernel_.lanes, ", ", kernel_.groups, ">(", scattered_row_, ");"));
  writer_->line("if (group > 0) return;");
  const std::string name = enter(row);
  auto scopes = walk(map, name);
  const SymExpr first = names_.symbols.at(row.var);
  if (map.width > 1) {
    writer_->line("#pragma unroll");
    scopes.push_back(writer_->open(for_head("int", "l0", "0", str_cat(map.width), "1")));
    names_.symbols[row.var] = first + var('l', 0);
  }
  Values values(program_, names_, dialect_, *writer_, {}, kNothingNamed);
  std::string old = values.load(s.buffer, s.index, s.symbol_values);
  const std::string sum = str_cat(scattered_row_, "[", row_place(map).str(), "]");
  values.store(s.buffer, s.index, s.symbol_values, combine(s.op, s.buffer, 1, std::move(old), sum));
  while (!scopes.empty()) scopes.pop_back();
  leave(row);
}

}  // namespace inductor
