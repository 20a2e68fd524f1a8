// Programs made at random.
//   Graph program = random_program(7);        // the same seed, the same program
// Pointwise code with broadcasting and type promotion, views, reductions, reads and sums by index,
// concatenations and padding, scans, windows, composites, products, in-place forms; all run in
// eager, forward and backward, without an error. What decides by comparison decides about unrounded
// values.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "torchdyn/replay/program.h"

namespace torchdyn::testing {

using replay::Builder;
using replay::Tensors;

aten_bridge::Graph random_program(unsigned seed);

// A program on its way: what the kinds of steps (steps.cc) write with.
class Generator {
 public:
  struct Item {
    aten_bridge::Value value;
    at::Tensor tensor;
  };
  using Condition = bool (*)(const Item&);

  Generator(std::string name, unsigned seed);

  int64_t below(int64_t n);  // 0 .. n-1
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  auto one_of(const List& list) {
    return *(std::begin(list) + below(std::end(list) - std::begin(list)));
  }
  double number();  // that every floating type holds
  int64_t dim_of(
      const Item& item);  // a dimension, counted from either end; fails where there is none

  Item pick(Condition condition);        // an earlier value that meets it, or an input
  Item pick_exact(Condition condition);  // one without rounding
  Item partner(const Item& item);        // one that broadcasts with it
  Item input(char kind, aten_bridge::DType dtype, std::vector<int64_t> sizes, int64_t high = 0);
  Item input_like(const Item& item, std::vector<int64_t> sizes);  // of its dtype
  std::vector<int64_t> sizes(int64_t rank);
  // Whether a program may write the one into the other in place. Inputs take constants only, and
  // only where no two of their elements are one.
  bool may_write(const Item& from, const Item& to) const;
  bool is_exact(const Item& item) const { return builder_.is_exact(item.value); }

  void call(const std::string& op, std::vector<aten_bridge::Argument> args);
  // The first result, for a step of several calls.
  Item call_for(const std::string& op, std::vector<aten_bridge::Argument> args);
  aten_bridge::Graph finish();

 private:
  aten_bridge::DType dtype();

  std::mt19937 random_;
  Builder builder_;
  std::vector<int64_t> extents_;  // a program's sizes are few, so that shapes meet
  aten_bridge::DType main_;       // most inputs have this dtype
  std::vector<Item> items_;
  int inputs_ = 0;
};

bool is_floating(const Generator::Item& item);
bool is_integer(const Generator::Item& item);  // bool aside
bool is_bool(const Generator::Item& item);
bool is_any(const Generator::Item& item);

using Step = void (*)(Generator&);
struct WeightedStep {
  Step step;
  int weight;
};
std::vector<WeightedStep> steps();

}  // namespace torchdyn::testing
