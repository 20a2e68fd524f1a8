// How large a GPU is, as far as loops are divided by it: an H100 and its like. Smaller ones have
// more blocks and threads than they need.
#pragma once

#include <cstdint>

namespace inductor {

inline constexpr int kWarp = 32;
inline constexpr int kMostThreads = 1024;                 // of a block
inline constexpr int64_t kRegistersOfBlocks = 64 * 1024;  // of a processor's blocks
inline constexpr int64_t kEnoughBlocks = 256;             // two for each processor
inline constexpr int64_t kAllThreads = 256 * 1024;        // that run at the same time
inline constexpr int64_t kBusyThreads = kAllThreads / 2;  // that keep its memory busy
inline constexpr int kSector = 32;                        // bytes that memory moves at once

}  // namespace inductor
