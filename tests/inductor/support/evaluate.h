// A reference for what a LoopProgram computes: interprets the loops over arrays, one element at a
// time, by the reference column of scalar_ops.def. Slow and plain; passes, schedules and emitters
// are tested against it.
//   std::vector<Array> out = evaluate(program, {random_array(type, seed), ...});
// Kernels and locals are understood, extern calls are not (an error unless `call` runs them).
#pragma once

#include <functional>
#include <vector>

#include "inductor/ir/loop.h"
#include "inductor/ir/scalar_table.h"

namespace inductor::testing {

// A buffer's storage, element by element, in the dtype's precision.
struct Array {
  TensorType type;
  std::vector<ScalarValue> data;
  bool operator==(const Array& other) const;  // same bits; every NaN equals every NaN
};

Array zeros(const TensorType& type);
// Small numbers with few digits, so that sums of any order are exact; negative ones, zeros, and
// where `specials` is set NaN, infinities and -0.
Array random_array(const TensorType& type, unsigned seed, bool specials = false);

using CallExtern = std::function<std::vector<Array>(const ExternCall&, const std::vector<Array>&)>;

// Inputs in graph order. Outputs are gathered through their references into row-major arrays.
std::vector<Array> evaluate(const LoopProgram& program, const std::vector<Array>& inputs,
                            const CallExtern& call = nullptr);

}  // namespace inductor::testing
