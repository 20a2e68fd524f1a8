// Forward and backward as one graph: after the program ran, its backward is recorded in the same
// scope.
//   Captured captured = record_joint(results, substitution, recorder);
#pragma once

#include "aten_bridge/trace/capture.h"

namespace aten_bridge {

class Recorder;
class Substitution;

// Inside a capture scope; finishes the recorder. Throws CaptureError.
Captured record_joint(const Tensors& results, const Substitution& substitution, Recorder& recorder);

// backward() inside the program throws CaptureError instead of filling a stand-in's .grad.
void refuse_backward(const Substitution& substitution);

}  // namespace aten_bridge
