#include "tests/inductor/support/cuda_compiler.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "inductor/backend/cuda/nvrtc.h"
#include "tests/inductor/support/scratch_directory.h"

namespace inductor::testing {
namespace {

const std::string kTorchLib = TORCHDYN_TORCH_LIB;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool libtorch_has_cuda() { return std::filesystem::exists(kTorchLib + "/libtorch_cuda.so"); }

std::string nvrtc_of_libtorch() { return nvrtc_beside(kTorchLib + "/libtorch_cpu.so"); }

CompiledCuda compile_cuda(const std::string& text, int capability) {
  const ScratchDirectory folder;
  const BuildFiles files{folder.path() + "/k.cu", folder.path() + "/k.cubin",
                         folder.path() + "/k.log"};
  std::ofstream(files.source) << text;
  // On another machine than the one that built this, LibTorch's libraries are where the loader
  // looks.
  std::string nvrtc = nvrtc_of_libtorch();
  if (nvrtc.empty()) nvrtc = find_nvrtc().value_or("");
  absl::Status status = compile_cubin(nvrtc, capability, files);
  return {status, read_file(files.log), read_file(files.binary)};
}

}  // namespace inductor::testing
