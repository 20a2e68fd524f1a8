// LibTorch's own C++ Meta kernels as shape rules, for the operators on a tested list.
//   if (meta_kernel_is_tested(name)) results = call_meta_kernel(op, args);
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace aten_bridge {

// All operators on the list; tests/aten_bridge/fake/meta_kernels_test has a sample call for each.
std::span<const std::span<const std::string_view>> tested_meta_kernels();

// Runs the operator on the twins of the fakes among its arguments; tensors among the results are
// meta tensors.
std::vector<c10::IValue> call_meta_kernel(const c10::OperatorHandle& op,
                                          std::span<const c10::IValue> args);

}  // namespace aten_bridge
