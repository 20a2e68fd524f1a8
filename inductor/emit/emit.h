// A kernel's loops as text in the language of a device.
//   EmittedKernel k = emit_cpp(program, kernel);
// C signature: void NAME(void* const* buffers, const int64_t* sizes, const TdContext* context);
#pragma once

#include <string>
#include <vector>

#include "inductor/ir/launch_shape.h"
#include "inductor/ir/loop.h"

namespace inductor {

struct EmittedKernel {
  // "softmax_7f3a91c2": readable part and digest of the text; equal kernels get equal names.
  std::string name;
  // One extern "C" function. Buffers are named by position, so equal loops give equal text; no two
  // of a launch overlap.
  std::string text;
  std::vector<int> buffers;    // of the program, in argument order
  std::vector<SymExpr> sizes;  // symbols' values to pass, in order; empty when all is static
  LaunchShape shape;
  // Buffers of the host whose contents a GPU's kernel is given, behind the sizes.
  std::vector<int> values = {};
};

EmittedKernel emit_cpp(const LoopProgram& program, const Kernel& kernel);
EmittedKernel emit_cuda(const LoopProgram& program, const Kernel& kernel);
// What stands before the kernels in every translation unit.
std::string cpp_preamble();
std::string cuda_preamble();

}  // namespace inductor
