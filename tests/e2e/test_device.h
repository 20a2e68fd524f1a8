// The device that end-to-end tests run on: TORCHDYN_TEST_DEVICE, the CPU where it is not set.
//   const Tensor x = torch::rand({4}).to(test_device());
#pragma once

#include <cstdlib>

#include "bench/gpt/device.h"

inline c10::Device test_device() {
  static const c10::Device device = [] {
    const char* name = std::getenv("TORCHDYN_TEST_DEVICE");
    return gpt::open_device(name ? name : "cpu");
  }();
  return device;
}
