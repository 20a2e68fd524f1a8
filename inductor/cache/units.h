// Divides kernels into translation units that take about equally long to compile.
//   split_units({9000, 1500, 8000, 600}, 2) == {{0, 3}, {1, 2}}
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace inductor {

// Indices by unit, ascending in each. At most `most` units, and no more than the text is worth: a
// unit costs the start of a compiler and the preamble.
std::vector<std::vector<size_t>> split_units(std::span<const int64_t> text_bytes, int most);

}  // namespace inductor
