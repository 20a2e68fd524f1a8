// Columns that every nest of a body walks over, each on its own: a softmax over channels, say.
//   for i0 < 8 {                                     for i0 < 8, for i9 < 1024 {
//     for i1 < 21 reduction, for i2 < 262144: s[i2] += x[..]      for i1 < 21 reduction, for i2 <
//     256: .. for i3 < 21, for i4 < 262144: y[..] = x[..] / s[i4]   ->    for i3 < 21, for i4 <
//     256: ..
//   }                                                }
// Nothing that one column makes is used by another, so that a block may have a few of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

// Columns that a block has where there are enough blocks.
inline constexpr int64_t kColumnsOfBlock = 256;

// How many of the columns a block takes: a divisor of their number that suits wide accesses, fewer
// where blocks would be few; `around`: blocks without that. All of them where none will do.
int64_t columns_of_block(int64_t columns, int64_t around);

// How many columns there are; none where two nests or more do not walk over the same.
std::optional<int64_t> common_columns(const LoopProgram& program, const std::vector<Stmt>& body);

// Cuts them into blocks: a loop of its own around the body, behind the loops that are there.
void spread_common_columns(LoopProgram& program, Kernel& kernel);

}  // namespace inductor
