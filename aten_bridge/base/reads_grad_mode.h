// Kernels that look at grad mode and not at their arguments for whether a backward will come.
//   c10::AutoGradMode mode(c10::GradMode::is_enabled() || reads_grad_mode(op) && has_last_output);
#pragma once

#include <string_view>

namespace aten_bridge {

// Its last output, what it keeps for the backward, is undefined where grad mode is off.
inline bool reads_grad_mode(std::string_view op) { return op == "aten::mkldnn_rnn_layer"; }

}  // namespace aten_bridge
