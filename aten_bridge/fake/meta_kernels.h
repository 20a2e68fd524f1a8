// LibTorch's own C++ Meta kernels as shape rules, for the operators on a tested list.
//   if (meta_kernel_is_tested(name)) results = call_meta_kernel(op, meta_kernel_key(op), args);
//
// A Python process replaces kernels under the Meta key by slower ones of Python's, which also take
// the interpreter's lock. So that every process computes the same shapes by the same code, a kernel
// is called by the key of the composite ones, and so are the operators that it calls.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace c10 {
class DispatchKeySet;
class OperatorHandle;
enum class DispatchKey : uint16_t;
struct IValue;
}  // namespace c10

namespace aten_bridge {

// All operators on the list; tests/aten_bridge/fake/meta_kernels_test has a sample call for each.
std::span<const std::span<const std::string_view>> tested_meta_kernels();
bool meta_kernel_is_tested(std::string_view op);

// Whether it is no operator of ATen and has a Meta kernel: that is its shape rule (in Python
// torch.library.register_fake), and may call whatever runs on meta tensors.
bool has_registered_fake(const c10::OperatorHandle& op);

// The key of the operator's kernel that runs on meta tensors; Undefined where it has none.
c10::DispatchKey meta_kernel_key(const c10::OperatorHandle& op);

// Runs the kernel on the twins of the fakes among its arguments; tensors among the results are
// meta tensors.
std::vector<c10::IValue> call_meta_kernel(const c10::OperatorHandle& op, c10::DispatchKey key,
                                          std::span<const c10::IValue> args);

// The fallback of the key that call_meta_kernel includes: an operator that a kernel calls.
void call_inside_meta_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                             std::vector<c10::IValue>* stack);

}  // namespace aten_bridge
