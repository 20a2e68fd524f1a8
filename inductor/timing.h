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
    const Stop stop{*this, name, std::chrono::steady_clock::now()};
    return stage();
  }
  std::string text() const;

 private:
  struct Stop {
    Timing& timing;
    std::string_view name;
    std::chrono::steady_clock::time_point start;
    ~Stop() { timing.add(name, std::chrono::steady_clock::now() - start); }
  };
  void add(std::string_view name, std::chrono::duration<double, std::milli> time);

  std::vector<std::pair<std::string_view, double>> stages_;  // milliseconds
};

}  // namespace inductor
