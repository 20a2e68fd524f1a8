#include "aten_bridge/base/check.h"
#include "inductor/emit/emit.h"

namespace inductor {

EmittedKernel emit_cuda(const LoopProgram& program, const Kernel& kernel) {
  TD_CHECK(false, "no loops for CUDA yet: ", kernel.name, " of ", program.name);
}

}  // namespace inductor
