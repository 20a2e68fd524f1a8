// ATen's values to the graph's and back: the one place that knows both.
//   ArgumentValue a = to_argument(stack[i], schema.arguments()[i], name_of);
//   c10::IValue v = to_ivalue(a, schema.arguments()[i], tensor_of);
#pragma once

#include <functional>

#include "absl/functional/function_ref.h"

#include "aten_bridge/graph/graph.h"

namespace at {
class Tensor;
}
namespace c10 {
struct Argument;
struct Device;
struct IValue;
enum class ScalarType : int8_t;
}  // namespace c10

namespace aten_bridge {

DType to_dtype(c10::ScalarType type);  // CaptureError for types without a row in dtype.def
c10::ScalarType to_scalar_type(DType dtype);
Device to_device(const c10::Device& device);  // CaptureError unless CPU or CUDA
c10::Device to_c10_device(const Device& device);
TensorType type_of(const at::Tensor& tensor);  // static sizes and strides
// The type of a tensor on this device with a meta tensor's geometry.
TensorType type_of(const at::Tensor& meta, const Device& device);

// A boxed argument as the graph keeps it. `name_tensor` gives what stands for a tensor: its value,
// or the number that a real tensor wraps. CaptureError for kinds that a graph cannot keep.
ArgumentValue to_argument(const c10::IValue& value, const c10::Argument& spec,
                          absl::FunctionRef<ArgumentValue(const at::Tensor&)> name_tensor);

// And back; a number where the schema wants a tensor becomes a wrapped number.
c10::IValue to_ivalue(const ArgumentValue& argument, const c10::Argument& spec,
                      absl::FunctionRef<at::Tensor(Value)> tensor_of);

// The number inside a tensor that LibTorch made of a C++ scalar.
ArgumentValue wrapped_number(const at::Tensor& tensor);

}  // namespace aten_bridge
