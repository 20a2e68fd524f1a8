// How long the stages of one compile take.
//   Timing timing;
//   LoopProgram loops = timing.measure("lower", [&] { return lower(graph); });
//   timing.text() == "lower 0.4 ms, ..."
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace inductor {

class Timing {
 public:
  // Adds to the stage's time, which stands where the stage was first met.
  template <class Stage>
  auto measure(std::string_view name, const Stage& stage) {
    const Stop stop{*this, index_of(name), std::chrono::steady_clock::now()};
    return stage();
  }
  // What was measured elsewhere, at the same time or not.
  void add(const Timing& other);
  std::string text() const;

 private:
  struct Stop {
    Timing& timing;
    size_t stage;
    std::chrono::steady_clock::time_point start;
    ~Stop() { timing.stages_[stage].second += std::chrono::steady_clock::now() - start; }
  };
  size_t index_of(std::string_view name);

  std::vector<std::pair<std::string_view, std::chrono::duration<double, std::milli>>> stages_;
};

}  // namespace inductor
