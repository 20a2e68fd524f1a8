// Which tensors, modules and constants an argument or a result is made of.
//   Arguments<std::vector<at::Tensor>>::visit(list, visitor);   // visitor.tensor(t) for each, in
//   order
//
// Known: at::Tensor; torch::nn modules, their holders and std::shared_ptr to them; numbers, bools,
// enums and strings (guarded by value); std::optional, std::vector, std::array, std::pair,
// std::tuple and std::map of these. A visitor has tensor(at::Tensor&), tensor(const at::Tensor&),
// constant(std::uint64_t) and module(const torch::nn::Module&).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace torchdyn {

template <class T, class Enable = void>
struct Arguments {
  static_assert(!sizeof(T),
                "torchdyn::compile does not know this argument or result type: pass tensors, "
                "modules, numbers, strings, or optionals, vectors, tuples and maps of them");
};

template <class T, class Visitor>
void visit_argument(T& value, Visitor& visitor) {
  Arguments<std::remove_const_t<T>>::visit(value, visitor);
}

template <>
struct Arguments<at::Tensor> {
  template <class T, class Visitor>
  static void visit(T& value, Visitor& visitor) {
    visitor.tensor(value);
  }
};

template <class T>
struct Arguments<T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>>> {
  static_assert(sizeof(T) <= sizeof(std::uint64_t), "long double is not guarded; pass a double");
  template <class Visitor>
  static void visit(const T& value, Visitor& visitor) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    visitor.constant(bits);
  }
};

template <>
struct Arguments<std::string> {
  template <class Visitor>
  static void visit(std::string_view value, Visitor& visitor) {
    visitor.constant(value.size());
    for (size_t at = 0; at < value.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, value.data() + at, std::min(sizeof(bits), value.size() - at));
      visitor.constant(bits);
    }
  }
};

template <class T>
struct Arguments<T, std::enable_if_t<std::is_base_of_v<torch::nn::Module, T>>> {
  template <class Visitor>
  static void visit(const T& value, Visitor& visitor) {
    visitor.module(value);
  }
};

template <class T>
struct Arguments<std::shared_ptr<T>,
                 std::enable_if_t<std::is_base_of_v<torch::nn::Module, std::remove_const_t<T>>>> {
  template <class Visitor>
  static void visit(const std::shared_ptr<T>& value, Visitor& visitor) {
    visitor.constant(value != nullptr);
    if (value) visitor.module(*value);
  }
};

template <class T>
struct Arguments<T, std::enable_if_t<std::is_base_of_v<torch::detail::ModuleHolderIndicator, T>>> {
  template <class Visitor>
  static void visit(const T& value, Visitor& visitor) {
    visitor.constant(!value.is_empty());
    if (!value.is_empty()) visitor.module(*value.ptr());
  }
};

template <class T>
struct Arguments<std::optional<T>> {
  template <class Optional, class Visitor>
  static void visit(Optional& value, Visitor& visitor) {
    visitor.constant(value.has_value());
    if (value) visit_argument(*value, visitor);
  }
};

template <>
struct Arguments<std::nullopt_t> {
  template <class Visitor>
  static void visit(std::nullopt_t, Visitor& visitor) {
    visitor.constant(0);
  }
};

template <class T, class Allocator>
struct Arguments<std::vector<T, Allocator>> {
  template <class Vector, class Visitor>
  static void visit(Vector& value, Visitor& visitor) {
    visitor.constant(value.size());
    for (auto&& item : value) {
      if constexpr (std::is_same_v<T, bool>) {
        visitor.constant(item ? 1 : 0);
      } else {
        visit_argument(item, visitor);
      }
    }
  }
};

template <class T, size_t N>
struct Arguments<std::array<T, N>> {
  template <class Array, class Visitor>
  static void visit(Array& value, Visitor& visitor) {
    for (auto& item : value) visit_argument(item, visitor);
  }
};

template <class... T>
struct Arguments<std::tuple<T...>> {
  template <class Tuple, class Visitor>
  static void visit(Tuple& value, Visitor& visitor) {
    std::apply([&](auto&... item) { (visit_argument(item, visitor), ...); }, value);
  }
};

template <class First, class Second>
struct Arguments<std::pair<First, Second>> {
  template <class Pair, class Visitor>
  static void visit(Pair& value, Visitor& visitor) {
    visit_argument(value.first, visitor);
    visit_argument(value.second, visitor);
  }
};

template <class Key, class T, class Compare, class Allocator>
struct Arguments<std::map<Key, T, Compare, Allocator>> {
  template <class Map, class Visitor>
  static void visit(Map& value, Visitor& visitor) {
    visitor.constant(value.size());
    for (auto& [key, item] : value) {
      visit_argument(key, visitor);
      visit_argument(item, visitor);
    }
  }
};

}  // namespace torchdyn
