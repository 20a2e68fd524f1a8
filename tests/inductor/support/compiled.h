// Runs a scheduled program's kernels, compiled by the host compiler: what emitters are tested with.
//   CompiledKernels kernels = compile_kernels({&a, &b});         // one shared object
//   std::vector<Array> out = kernels.run(0, inputs);             // as evaluate(a, inputs)
#pragma once

#include <memory>
#include <vector>

#include "inductor/emit/emit.h"
#include "inductor/ir/loop.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {

class CompiledKernels {
 public:
  // Threads are imitated: parallel loops run in `pieces` pieces, last one first.
  std::vector<Array> run(size_t program, const std::vector<Array>& inputs, int pieces = 3) const;

 private:
  struct Program {
    const LoopProgram* loops;
    std::vector<EmittedKernel> kernels;
  };
  std::vector<Program> programs_;
  std::shared_ptr<void> library_;
  friend CompiledKernels compile_kernels(const std::vector<const LoopProgram*>&, const std::string&,
                                         const std::string&);
};

// The programs hold kernels only, and stay alive. `definitions` stand before the kernels.
CompiledKernels compile_kernels(const std::vector<const LoopProgram*>& programs,
                                const std::string& flags = "-O1 -mavx2 -mfma -mf16c",
                                const std::string& definitions = "");

}  // namespace inductor::testing
