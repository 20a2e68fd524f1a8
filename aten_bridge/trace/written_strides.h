// A tensor keeps its strides when it is changed in place; functionalization gives it those of the
// operator's new result, which may be others: of a transposed tensor, of one with gaps.
//   const WrittenStrides strides(op, args);      // functional wrappers
//   ... the operator runs ...
//   strides.keep();                              // a copy into the old layout is recorded
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace aten_bridge {

class WrittenStrides {
 public:
  WrittenStrides(const c10::OperatorHandle& op, std::span<const c10::IValue> args);
  void keep() const;

 private:
  struct Written {
    at::Tensor wrapper, before;  // `before`: the fake in it
  };
  std::vector<Written> written_;
};

}  // namespace aten_bridge
