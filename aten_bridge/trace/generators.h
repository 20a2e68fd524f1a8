// The states of the default generators: saved, and put back when the object ends.
//   const GeneratorStates before;      // draws until here are undone
#pragma once

#include <vector>

namespace at {
struct Generator;
class Tensor;
}  // namespace at

namespace aten_bridge {

class GeneratorStates {
 public:
  GeneratorStates();
  ~GeneratorStates();
  GeneratorStates(const GeneratorStates&) = delete;
  // The draws since then stand.
  void keep() { kept_ = true; }

  // One a default generator: the CPU's, then each initialised GPU's.
  static std::vector<at::Tensor> get();
  static void set(const std::vector<at::Tensor>& states);

 private:
  std::vector<at::Generator> generators_;
  std::vector<at::Tensor> states_;
  bool kept_ = false;
};

}  // namespace aten_bridge
