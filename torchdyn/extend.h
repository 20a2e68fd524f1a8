// Definitions of operators from outside, which join the tables that capture and lowering read.
//   torchdyn::add_decomposition("mylib::swish", [](std::vector<c10::IValue>& stack) { ... });
//   torchdyn::add_lowering("mylib::swish", R"(element 1 (x) {
//     %0 = neg(x)
//     %1 = exp(%0)
//     %2 = add(1, %1)
//     %3 = div(x, %2)
//     return %3
//   })");
//
// The last definition of an operator is the one that counts, before the library's own. Functions
// compiled earlier are captured anew at their next call. Any thread.
//
// A shape rule is no matter of these: an operator's is the kernel for meta tensors that it is
// registered with (in Python torch.library.register_fake). A decomposition needs none; a lowering
// does.
//
// std::invalid_argument where there is no such operator, where LibTorch expresses it by others
// before it can be seen, where it writes to arguments or gives views of them; for a lowering also
// where an argument or a result is not of one element, and where the text does not read.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace c10 {
struct IValue;
}

namespace torchdyn {

// `function` replaces the arguments on the stack, tensors without data, by the results: it calls
// operators, which are recorded in the place of this one. It must be functional, and give what the
// operator gives: dtypes, sizes, strides.
void add_decomposition(const std::string& op,
                       std::function<void(std::vector<c10::IValue>&)> function);

// What an element may be made of: names and numbers of operands.
std::vector<std::pair<std::string, int>> scalar_operators();

// `element`: what one element of the results is (inductor/lowering/element.h).
void add_lowering(const std::string& op, std::string_view element);

}  // namespace torchdyn
