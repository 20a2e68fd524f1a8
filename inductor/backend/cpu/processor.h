// Which processors machine code runs on.
//   std::string level = processor_level();        // "x86-64-v3": what packages are built for here
//   if (!runs_here(level)) ...                    // on another machine
#pragma once

#include <string>
#include <string_view>

namespace inductor {

// A name that compilers take for -march: x86-64-v3 (AVX2 and FMA, all that kernels use) where this
// processor has it, else what every processor of the architecture has.
std::string processor_level();

bool runs_here(std::string_view level);
// Whether such processors are of this machine's architecture, older or newer ones.
bool is_processor_level(std::string_view name);

}  // namespace inductor
