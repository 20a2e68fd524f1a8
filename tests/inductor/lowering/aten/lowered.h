// Graphs of a few calls, lowered and evaluated, beside ATen's results.
//   const at::Tensor y = at::upsample_nearest1d(x, {7});
//   expect_lowered(str_cat("x: ", type_text(x)), {x},
//                  str_cat("  %0: ", type_text(y), " = aten::upsample_nearest1d(x, ...)\n"
//                          "  return %0\n"), {y});
#pragma once

#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace inductor::testing {

// "f32[2, 3]{3, 1}"; of float32 and int64.
std::string type_text(const at::Tensor& t);

// The graph of the inputs and calls computes `results` from `values` (float32).
void expect_lowered(const std::string& inputs, const std::vector<at::Tensor>& values,
                    const std::string& calls, const std::vector<at::Tensor>& results);

}  // namespace inductor::testing
