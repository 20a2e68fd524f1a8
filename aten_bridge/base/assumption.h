// Thrown by a run of a compiled graph when a value that capture read (a number, a size that depends
// on data) is another one this time. Nothing of the run may be used.
#pragma once

#include <stdexcept>

namespace aten_bridge {

class AssumptionFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// For the values of this call eager raises: an index is out of range.
class EagerRaises : public AssumptionFailed {
 public:
  using AssumptionFailed::AssumptionFailed;
};

// This call is eager's, and another capture would not change that.
class LeftToEager : public AssumptionFailed {
 public:
  using AssumptionFailed::AssumptionFailed;
};

}  // namespace aten_bridge
