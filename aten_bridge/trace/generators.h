// The states of the default generators: saved, and put back when the object ends.
//   const GeneratorStates before;      // draws until here are undone
#pragma once

#include <vector>

namespace at {
class Tensor;
}

namespace aten_bridge {

class GeneratorStates {
 public:
  GeneratorStates() : states_(get()) {}
  ~GeneratorStates() {
    if (!kept_) set(states_);
  }
  GeneratorStates(const GeneratorStates&) = delete;
  // The draws since then stand.
  void keep() { kept_ = true; }

  // One a default generator: the CPU's, then each initialised GPU's.
  static std::vector<at::Tensor> get();
  static void set(const std::vector<at::Tensor>& states);

 private:
  std::vector<at::Tensor> states_;
  bool kept_ = false;
};

}  // namespace aten_bridge
