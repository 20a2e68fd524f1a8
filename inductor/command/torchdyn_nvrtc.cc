// torchdyn_nvrtc NVRTC CAPABILITY SOURCE BINARY LOG: one compile, in a process of its own. See
// nvrtc_worker.h.
#include <cstdlib>
#include <iostream>

#include "inductor/backend/cuda/nvrtc.h"

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "torchdyn_nvrtc NVRTC CAPABILITY SOURCE BINARY LOG\n"
                 "Compiles CUDA C++ into a cubin. torchdyn runs it where many kernels are built.\n";
    return 2;
  }
  const absl::Status status =
      inductor::compile_cubin(argv[1], std::atoi(argv[2]), {argv[3], argv[4], argv[5]});
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
