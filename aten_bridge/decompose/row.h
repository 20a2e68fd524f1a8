// Rows from plain functions over tensors; for the family files only.
//   Tensor silu(const Tensor& self) { ... }
//   constexpr Decomposition kRows[] = {{"aten::silu", boxed<silu>}};
//
// The function's parameters are the schema's, in order: each boxed argument is converted to the
// parameter's type (which for int[] is SymInts, so that sizes may be symbols); its result, or tuple
// of results, is left on the stack.
//
// An operator that ATen itself composes of others below autograd needs no function:
//   constexpr Decomposition kRows[] = {by_aten<"aten::_foreach_add.List">()};
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/decompose/decompose.h"

namespace aten_bridge::decompose {

using at::Scalar;
using at::ScalarType;
using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using SymInts = std::vector<c10::SymInt>;

namespace internal {

template <class T>
T from_ivalue(const c10::IValue& value) {
  return value.to<T>();
}
template <>
inline SymInts from_ivalue<SymInts>(const c10::IValue& value) {
  return value.toSymIntVector();
}
template <>
inline std::optional<SymInts> from_ivalue<std::optional<SymInts>>(const c10::IValue& value) {
  if (value.isNone()) return std::nullopt;
  return value.toSymIntVector();
}
// An optional tensor that is there but undefined is absent too.
template <>
inline MaybeTensor from_ivalue<MaybeTensor>(const c10::IValue& value) {
  if (value.isNone() || !value.toTensor().defined()) return std::nullopt;
  return value.toTensor();
}

inline void push(Stack& stack, Tensor result) { stack.emplace_back(std::move(result)); }
inline void push(Stack& stack, std::vector<Tensor> results) {
  stack.emplace_back(std::move(results));
}
template <class... Results>
void push(Stack& stack, std::tuple<Results...> results) {
  std::apply([&](auto&... result) { (stack.emplace_back(std::move(result)), ...); }, results);
}

template <class Result, class... Params, size_t... I>
void call(Result (*function)(Params...), Stack& stack, std::index_sequence<I...>) {
  TD_CHECK(stack.size() >= sizeof...(Params), "too few arguments on the stack");
  const size_t first = stack.size() - sizeof...(Params);
  std::tuple<std::decay_t<Params>...> args{from_ivalue<std::decay_t<Params>>(stack[first + I])...};
  stack.resize(first);
  push(stack, function(std::get<I>(args)...));
}

template <class Result, class... Params>
void call(Result (*function)(Params...), Stack& stack) {
  call(function, stack, std::index_sequence_for<Params...>{});
}

}  // namespace internal

template <auto function>
void boxed(Stack& stack) {
  internal::call(+function, stack);
}

// An operator's name as a template's argument.
template <size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&name)[size]) { std::copy_n(name, size, text); }
  constexpr operator std::string_view() const { return {text, size - 1}; }
};

void run_as_aten_composes(std::string_view op, Stack& stack);

template <Name op>
constexpr Decomposition by_aten() {
  return {op, [](Stack& stack) { run_as_aten_composes(op, stack); }, nullptr, true};
}

}  // namespace aten_bridge::decompose
