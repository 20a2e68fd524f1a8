// How closely compiled code keeps eager's roundings: a row of options.def.
#pragma once

#include <cstdint>

namespace aten_bridge {

enum class Numerics : uint8_t {
  kDefault,  // functions and formulas of ours, as near to the exact result as eager's
  kEager,    // pointwise results have eager's bits; what would not is ATen's own call
};

}  // namespace aten_bridge
