// Runs a scheduled program's kernels, compiled by the host compiler: what emitters are tested with.
//   CompiledKernels kernels = compile_kernels({&a, &b});         // one shared object
//   std::vector<Array> out = kernels.run(0, inputs);             // as evaluate(a, inputs)
//   compile_cuda_kernels({&a, &b}, emit_cuda).run(0, inputs);    // on a device that is imitated
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "inductor/emit/emit.h"
#include "inductor/ir/loop.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {

using EmitKernel = std::function<EmittedKernel(const LoopProgram&, const Kernel&)>;

class CompiledKernels {
 public:
  // Threads are imitated; how they take turns must change no result. On a CPU parallel loops run in
  // so many pieces, the last one first; a CUDA block's threads run backwards unless `turns` is 1.
  std::vector<Array> run(size_t program, const std::vector<Array>& inputs, int turns = 3) const;

 private:
  using Launch =
      std::function<void(const EmittedKernel&, std::span<void* const> buffers, int turns)>;
  struct Program {
    const LoopProgram* loops;
    std::vector<EmittedKernel> kernels;
  };
  CompiledKernels(const std::vector<const LoopProgram*>& programs, const EmitKernel& emit);
  std::vector<EmittedKernel> kernels() const;

  std::vector<Program> programs_;
  Launch launch_;
  friend CompiledKernels compile_kernels(const std::vector<const LoopProgram*>&, const std::string&,
                                         const std::string&);
  friend CompiledKernels compile_cuda_kernels(const std::vector<const LoopProgram*>&,
                                              const EmitKernel&);
};

// The programs hold kernels only, and stay alive. `definitions` stand before the kernels.
CompiledKernels compile_kernels(const std::vector<const LoopProgram*>& programs,
                                const std::string& flags = "-O1 -mavx2 -mfma -mf16c",
                                const std::string& definitions = "");
CompiledKernels compile_cuda_kernels(const std::vector<const LoopProgram*>& programs,
                                     const EmitKernel& emit);

}  // namespace inductor::testing
