// Where reductions start, end and accumulate.
//   for (const Reduction& r : reductions_started_by(loop, around)) ...
// A Reduce reduces over the kReduction loops around it whose variables its index does not mention.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inductor/emit/dialect.h"
#include "inductor/ir/loop.h"

namespace inductor {

struct Reduction {
  const Reduce* reduce;
  std::vector<const Loop*> inside;  // from below the loop that starts it to the statement
  bool in_registers;                // one element at a time: no loop inside chooses another
};

// The Reduces below `loop` for which it is the outermost loop that they reduce over.
std::vector<Reduction> reductions_started_by(const Loop& loop, std::span<const Loop* const> around);

ScalarOp scalar_op(ReduceOp op);
// The literal that `op` leaves every value of the dtype unchanged with.
std::string identity(const Dialect& dialect, ReduceOp op, DType dtype);
std::string_view across_lanes(ReduceOp op);  // "td_across_sum"

}  // namespace inductor
