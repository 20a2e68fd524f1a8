// An explanation to look at: one HTML page that needs nothing else.
//   std::ofstream("loss.html") << torchdyn::to_html(torchdyn::explain(loss));
#pragma once

#include <string>

namespace torchdyn {

struct Explanation;

// Variants with their guards, graphs and kernels; a bar a kernel for the bytes that it moves; why
// neighbours were not fused, calls ran in eager and functions were captured again.
std::string to_html(const Explanation& explanation);

}  // namespace torchdyn
