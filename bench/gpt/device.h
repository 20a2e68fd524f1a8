// The device that a training runs on, without linking LibTorch's CUDA half.
//   const c10::Device device = open_device("cuda");   // loads libtorch_cuda; throws DeviceError
//   synchronize(device);                               // what was started there is done
#pragma once

#include <stdexcept>
#include <string>

#include <c10/core/Device.h>

namespace gpt {

// There is no such device: no libtorch_cuda, no driver, no GPU.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "cpu" or "cuda", which is the current GPU. Before LibTorch is asked for anything of CUDA's, since
// it remembers that there was none.
c10::Device open_device(const std::string& name);
void synchronize(c10::Device device);

// Autocast to bf16 on a device, for a scope; `enabled` false: nothing.
class Autocast {
 public:
  Autocast(c10::Device device, bool enabled);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType type_;
  bool enabled_;
};

}  // namespace gpt
