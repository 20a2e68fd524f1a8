// What shape rules are made of.
//   Types relu(Arguments a) { return {elementwise({tensor(a, 0)}, tensor(a, 0).scalar_type())}; }
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "aten_bridge/fake/shape_rules.h"

namespace at {
class Tensor;
}
namespace c10 {
enum class MemoryFormat : int8_t;
enum class ScalarType : int8_t;
}  // namespace c10

namespace aten_bridge {

using Arguments = ShapeRule::Arguments;
using Types = std::vector<std::optional<TensorType>>;
using Sizes = std::vector<int64_t>;

const at::Tensor& tensor(Arguments args, size_t i);  // checked: a defined tensor
bool is_given(Arguments args, size_t i);             // a defined tensor stands there
bool mask_at(Arguments args, size_t i, size_t bit);  // of a bool[] argument

// Throws CaptureError.
[[noreturn]] void size_depends_on_values(std::string_view op);

// What at::empty(sizes, like's dtype and device) is.
TensorType dense(const Sizes& sizes, const at::Tensor& like);
TensorType dense(const Sizes& sizes, c10::ScalarType dtype, const at::Tensor& like);
TensorType dense(const Sizes& sizes, const at::Tensor& like, c10::MemoryFormat format);
TensorType dense(const Sizes& sizes, c10::ScalarType dtype, const Device& device);
// What at::empty_like(t) is: t's strides where it is dense, else dense in the same order.
TensorType like(const at::Tensor& t);
TensorType like(const at::Tensor& t, c10::ScalarType dtype);
// What an elementwise operator makes of these operands: broadcast, strides as TensorIterator picks
// them.
TensorType elementwise(std::initializer_list<at::Tensor> operands, c10::ScalarType dtype);
// A [d0, d1, d2, d3] tensor that lies in memory as [d0, d2, d1, d3]: attention's outputs.
TensorType heads_inside(const Sizes& sizes, c10::ScalarType dtype, const at::Tensor& like);

}  // namespace aten_bridge
