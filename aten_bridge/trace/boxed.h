// Boxed calls: the tensors among boxed values, an operator's properties, and the keys that capture
// adds.
//   map_tensors(args, [&](const at::Tensor& t) { return is_fake(t) ? meta_twin(t) : t; });
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace at {
class Tensor;
}
namespace c10 {
class DispatchKeySet;
class OperatorHandle;
struct FunctionSchema;
struct IValue;
}  // namespace c10

namespace aten_bridge {

// Calls `visit` on every defined tensor among the values, lists included.
void for_each_tensor(std::span<const c10::IValue> values,
                     absl::FunctionRef<void(const at::Tensor&)> visit);
// Replaces every defined tensor; a list is built anew only when one of its tensors changes.
void map_tensors(std::span<c10::IValue> values,
                 absl::FunctionRef<at::Tensor(const at::Tensor&)> replace);

// The tensors of an operator's results, lists taken apart; undefined ones in the place of numbers.
std::vector<at::Tensor> flatten(std::span<const c10::IValue> results);

// "aten::add.Tensor"
std::string name_of(const c10::OperatorHandle& op);
c10::OperatorHandle find_operator(std::string_view name);  // CaptureError when unknown

bool draws_random_numbers(const c10::OperatorHandle& op);
bool mutates(const c10::FunctionSchema& schema);  // writes to an argument
bool has_out(const c10::FunctionSchema& schema);  // results go to arguments of the caller
bool returns_view(
    const c10::FunctionSchema& schema);  // output aliases an argument it does not write

// Autograd, autocast, functionalization and our own keys, which a call below a fake must not meet
// again.
c10::DispatchKeySet keys_above_fake();    // without Fake itself: the call is recorded
c10::DispatchKeySet keys_down_to_fake();  // with Fake: the call goes to a kernel

}  // namespace aten_bridge
