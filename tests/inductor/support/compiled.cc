#include "tests/inductor/support/compiled.h"

#include <memory>
#include <set>

#include "aten_bridge/base/check.h"
#include "inductor/runtime/core/launcher.h"
#include "tests/inductor/support/array_memory.h"
#include "tests/inductor/support/cuda_on_host.h"
#include "tests/inductor/support/shared_object.h"

namespace inductor::testing {
namespace {

thread_local int pieces_now = 1;

void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) {
  TD_CHECK(grain >= 1, "grain");
  for (int64_t p = pieces_now; p-- > 0;)
    body(arg, count * p / pieces_now, count * (p + 1) / pieces_now);
}

}  // namespace

CompiledKernels::CompiledKernels(const std::vector<const LoopProgram*>& programs,
                                 const EmitKernel& emit) {
  for (const LoopProgram* loops : programs) {
    Program& p = programs_.emplace_back(Program{loops, {}});
    for (const Stmt& stmt : loops->body) p.kernels.push_back(emit(*loops, std::get<Kernel>(stmt)));
  }
}

std::vector<EmittedKernel> CompiledKernels::kernels() const {
  std::vector<EmittedKernel> all;
  for (const Program& p : programs_) all.insert(all.end(), p.kernels.begin(), p.kernels.end());
  return all;
}

std::vector<Array> CompiledKernels::run(size_t program, const std::vector<Array>& inputs,
                                        int turns) const {
  const Program& p = programs_[program];
  const auto& buffers = p.loops->buffers;
  std::vector<GuardedMemory> memory;
  for (const Buffer& b : buffers) memory.emplace_back(storage_bytes(b.type));
  for (size_t i = 0; i < inputs.size(); ++i)
    memory[static_cast<size_t>(p.loops->inputs[i])] = GuardedMemory(bytes_of(inputs[i]));
  for (const EmittedKernel& kernel : p.kernels) {
    std::vector<void*> pointers;
    for (const auto& buffers : {kernel.buffers, kernel.values})
      for (int b : buffers) pointers.push_back(memory[static_cast<size_t>(b)].data());
    launch_(kernel, pointers, turns);
  }
  for (const GuardedMemory& m : memory) m.check();
  std::vector<Array> results;
  for (const auto& output : p.loops->outputs) {
    const auto b = static_cast<size_t>(output->buffer);
    results.push_back(gather(memory[b].data(), *output, buffers[b].type.dtype));
  }
  return results;
}

CompiledKernels compile_kernels(const std::vector<const LoopProgram*>& programs,
                                const std::string& flags, const std::string& definitions) {
  CompiledKernels out(programs, emit_cpp);
  std::string text = cpp_preamble() + definitions;
  std::set<std::string> names;
  for (const EmittedKernel& kernel : out.kernels())
    if (names.insert(kernel.name).second) text += "\n" + kernel.text;
  out.launch_ = [library = compile_shared_object(text, flags)](
                    const EmittedKernel& kernel, std::span<void* const> buffers, int turns) {
    using Function = void (*)(void* const*, const int64_t*, const TdContext*);
    const TdContext context{parallel_for, nullptr, 0};
    pieces_now = turns;
    reinterpret_cast<Function>(function(library, kernel.name))(buffers.data(), nullptr, &context);
  };
  return out;
}

CompiledKernels compile_cuda_kernels(const std::vector<const LoopProgram*>& programs,
                                     const EmitKernel& emit) {
  CompiledKernels out(programs, emit);
  out.launch_ = [cuda = CudaOnHost(out.kernels())](const EmittedKernel& kernel,
                                                   std::span<void* const> buffers, int turns) {
    cuda.run(kernel, buffers, {}, turns == 1 ? ThreadOrder::kForward : ThreadOrder::kBackward);
  };
  return out;
}

}  // namespace inductor::testing
