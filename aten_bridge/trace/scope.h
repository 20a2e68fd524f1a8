// While a scope lives, its thread's ATen calls go to a capture instead of to kernels.
//   CaptureScope scope(recorder, stand_ins);
//   callable(...);
//
// The only thread-local of capture. It is kept in LibTorch's own slot for debug information, since
// that travels to autograd's device threads, where the backward of CUDA tensors is recorded.
#pragma once

#include <memory>

namespace aten_bridge {

class Recorder;
class Substitution;

class CaptureScope {
 public:
  CaptureScope(Recorder& recorder, Substitution& substitution);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;

  // Of the scope that the calling thread works for; null outside.
  static Recorder* recorder();
  static Substitution* substitution();

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
};

}  // namespace aten_bridge
