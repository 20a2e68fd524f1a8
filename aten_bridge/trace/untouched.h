// What a capture must leave as it was, although the program runs once during it.
//   Untouched before(inputs);
//   callable(...);
//   if (auto change = before.change()) throw CaptureError(*change);
//   ...                                    // the destructor puts everything back, come what may
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "aten_bridge/trace/capture.h"

namespace aten_bridge {

// Covers the inputs' .grad and requires_grad, the default generators, grad mode and autocast's
// state.
class Untouched {
 public:
  explicit Untouched(const CaptureInputs& inputs);
  ~Untouched();
  Untouched(const Untouched&) = delete;

  // The first thing that has changed, as a reason why capture refuses the program; none: nothing.
  std::optional<std::string> change() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aten_bridge
