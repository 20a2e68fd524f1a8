// The text of types and of operators' arguments, for every IR that calls operators. text.h lists
// the spellings; what stands for a tensor is the caller's.
//   print_argument(value, [&](Value v) { return names.at(v); });
//   parse_argument<Value>(in, [&](Scanner& in) { return tensor_if_any(in); });
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/scanner.h"

namespace aten_bridge {

namespace internal {
struct TensorText {
  std::string text;
};
struct TensorIndex {
  size_t index;
};
std::string print_argument(const ArgumentOf<TensorText>& argument);
ArgumentOf<TensorIndex> parse_argument(Scanner& in, const std::function<bool(Scanner&)>& tensor);
}  // namespace internal

template <class Tensor, class Print>
std::string print_argument(const ArgumentOf<Tensor>& argument, Print print) {
  return internal::print_argument(
      map_tensors(argument, [&](const Tensor& t) { return internal::TensorText{print(t)}; }));
}

// `tensor_if_any` reads a tensor from the front, or returns nullopt and leaves the scanner as it
// is.
template <class Tensor, class Read>
ArgumentOf<Tensor> parse_argument(Scanner& in, Read tensor_if_any) {
  std::vector<Tensor> tensors;
  const auto argument = internal::parse_argument(in, [&](Scanner& s) {
    std::optional<Tensor> tensor = tensor_if_any(s);
    if (tensor) tensors.push_back(*std::move(tensor));
    return tensor.has_value();
  });
  return map_tensors(argument, [&](internal::TensorIndex i) { return tensors[i.index]; });
}

TensorType parse_type(Scanner& in);  // what print(const TensorType&) writes

}  // namespace aten_bridge
