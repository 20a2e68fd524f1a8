// Compiles CUDA text with the NVRTC that LibTorch brings; needs neither a GPU nor LibTorch loaded.
//   NEEDS_NVRTC();                                    // first in a TEST
//   CompiledCuda compiled = compile_cuda(text, 90);   // for sm_90
//   EXPECT_TRUE(compiled.status.ok()) << compiled.log;
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace inductor::testing {

// LibTorch was built with CUDA, so its NVRTC has to be there.
bool libtorch_has_cuda();
// Empty where it is missing.
std::string nvrtc_of_libtorch();

struct CompiledCuda {
  absl::Status status;
  std::string log, cubin;
};
CompiledCuda compile_cuda(const std::string& text, int capability);

}  // namespace inductor::testing

#define NEEDS_NVRTC()                                                                         \
  do {                                                                                        \
    if (!::inductor::testing::libtorch_has_cuda())                                            \
      GTEST_SKIP() << "this LibTorch was built without CUDA";                                 \
    ASSERT_NE(::inductor::testing::nvrtc_of_libtorch(), "") << "LibTorch's NVRTC is missing"; \
  } while (false)
