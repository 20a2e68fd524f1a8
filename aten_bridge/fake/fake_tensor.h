// A fake: a tensor with everything but data (dtype, device, sizes, strides, offset, storage size,
// autograd).
//   at::Tensor fake = make_fake(meta_tensor(type), to_c10_device(type.device), value);
//   value_of(fake) == value;          // the graph value that it stands for; copies of the fake
//   keep it fake.data_ptr();                  // throws: the data is not allocated
//
// A fake keeps a meta twin: the tensor on the meta device with the same geometry. Shape questions
// that LibTorch can answer are put to the twins.
#pragma once

#include "aten_bridge/graph/graph.h"

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace aten_bridge {

// The tensor on the meta device with this type's dtype, sizes and strides; storage offset 0.
at::Tensor meta_tensor(const TensorType& type);
// The tensor on the meta device with a real tensor's geometry, offset and storage size included.
at::Tensor meta_twin_of_real(const at::Tensor& real);

at::Tensor make_fake(at::Tensor meta_twin, const c10::Device& device, Value value);
bool is_fake(const at::Tensor& tensor);  // false for a functional wrapper around one
const at::Tensor& meta_twin(const at::Tensor& fake);
Value value_of(const at::Tensor& fake);
// LibTorch throws for a typed pointer to data that is not there; this makes it throw for data_ptr()
// too, of a fake or of a wrapper around one, where null would crash its user.
void forbid_data(const at::Tensor& tensor);

}  // namespace aten_bridge
