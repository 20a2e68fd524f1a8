#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cpp_kernel.h"

namespace inductor {

using aten_bridge::str_cat;
namespace {

// One float that a whole sum runs through loses more than ATen's sums, which go pairwise; vectors
// of floats run a share of it each.
DType running_dtype(ReduceOp op, DType dtype, int width) {
  const bool loses = op == ReduceOp::kSum && dtype == DType::kFloat32 && width == 1;
  return loses ? DType::kFloat64 : dtype;
}

}  // namespace

void CppKernel::begin_reduction(const Loop& outermost, const Reduction& r) {
  Accumulator& acc = accumulators_[r.reduce];
  const Loop& innermost = r.inside.empty() ? outermost : *r.inside.back();
  acc.dtype = dtype(r.reduce->buffer);
  if (!r.in_registers) {
    fill(*r.reduce, r.inside, identity(dialect_, r.reduce->op, acc.dtype));
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

void CppKernel::fill(const Reduce& reduce, std::span<const Loop* const> inside,
                     const std::string& value) {
  std::vector<Writer::Scope> scopes;
  std::vector<const Loop*> entered;
  for (const Loop* l : inside) {
    if (!reduce.index.mentions(l->var)) continue;
    const std::string name = enter(*l);
    entered.push_back(l);
    scopes.push_back(writer_->open(for_head("int64_t", name, "0", names_.index(l->extent), "1")));
  }
  writer_->line(str_cat(names_.buffers.at(reduce.buffer), "[", names_.index(reduce.index),
                        "] = ", value, ";"));
  while (!scopes.empty()) scopes.pop_back();
  while (!entered.empty()) {
    leave(*entered.back());
    entered.pop_back();
  }
}

void CppKernel::reduce(const Reduce& r, Values& values, const Piece& piece) {
  const std::string value = values.value(r.value);
  const auto it = accumulators_.find(&r);
  if (it == accumulators_.end()) {  // every loop it reduced over had one iteration
    store(r.buffer, r.index, values, value);
  } else if (it->second.name.empty() && piece.width > 1 && !r.index.mentions(around_.back()->var)) {
    // All lanes reduce into one element.
    const std::string element =
        str_cat(names_.buffers.at(r.buffer), "[", names_.index(r.index), "]");
    const std::string lanes = str_cat(across_lanes(r.op), "(", value, ")");
    writer_->line(str_cat(element, " = ", combine(r.op, r.buffer, 1, element, lanes), ";"));
  } else if (it->second.name.empty()) {
    const std::string old = values.load(r.buffer, r.index, {});
    values.store(r.buffer, r.index, {}, combine(r.op, r.buffer, piece.width, old, value));
  } else {
    const std::string name = running(it->second, piece);
    const DType kept = it->second.dtype;
    const bool widens = kept != dtype(r.buffer);
    const std::string added = widens ? dialect_.cast(kept, piece.width, value) : value;
    writer_->line(str_cat(name, " = ", combine(r.op, kept, piece.width, name, added), ";"));
  }
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
  if (acc.name.empty()) return;
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
