// ATen's values to the graph's and back: the one place that knows both.
#pragma once

#include "aten_bridge/graph/graph.h"

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
enum class ScalarType : int8_t;
}  // namespace c10

namespace aten_bridge {

DType to_dtype(c10::ScalarType type);        // CaptureError for types without a row in dtype.def
c10::ScalarType to_scalar_type(DType dtype);
Device to_device(const c10::Device& device);
c10::Device to_c10_device(const Device& device);
TensorType type_of(const at::Tensor& tensor);  // static sizes and strides

}  // namespace aten_bridge
