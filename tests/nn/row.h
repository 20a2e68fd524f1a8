// What torch::nn has, a row each: a module or a functional, and arguments that it takes.
//   rows.push_back(module("Linear", [] { return nn::Linear(4, 3); }, normal({{2, 4}})));
//   rows.push_back(functional("gelu", normal({{2, 4}}), [](const Tensors& x) { return
//   F::gelu(x[0]); }));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace nn_rows {

using torch::Tensor;
using Tensors = std::vector<Tensor>;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

// One instance of a row: what is called, and the module that it uses, if any.
struct Subject {
  std::shared_ptr<nn::Module> module;
  std::function<Tensors(const Tensors&)> call;
};

struct Row {
  std::string name;  // as in torch::nn, and "/variant" where there are several
  std::function<Subject()> build;
  std::function<Tensors()> inputs;
  // Part of the reason for which it runs in eager; empty: it is compiled.
  std::string eager_reason = {};
  // It reads a number on the host that may be another one in every step: each is a variant.
  bool reads_new_values = false;
  // The same reason where only a GPU has it, and whether in training alone.
  std::string cuda_eager_reason = {};
  bool only_in_training = false;
};

// cuDNN's choice of an algorithm reads the lengths, and it draws a dropout of its own.
inline Row chosen_by_cudnn(Row row) {
  row.cuda_eager_reason = "aten::_use_cudnn_ctc_loss.Tensor has no shape rule";
  return row;
}
inline Row drawn_by_cudnn(Row row) {
  row.cuda_eager_reason = "drops out between layers, which cuDNN draws";
  row.only_in_training = true;
  return row;
}

// ---- Results ----

inline void append(Tensors& all, const Tensor& tensor) { all.push_back(tensor); }
inline void append(Tensors& all, const nn::ASMoutput& both) {
  all.insert(all.end(), {both.output, torch::full({}, both.loss, both.output.options())});
}
template <class... T>
void append(Tensors& all, const std::tuple<T...>& results) {
  std::apply([&](const auto&... result) { (append(all, result), ...); }, results);
}
template <class Result>
Tensors flat(const Result& result) {
  Tensors all;
  append(all, result);
  return all;
}

// ---- Inputs ----

using Sizes = std::vector<std::vector<int64_t>>;

inline std::function<Tensors()> normal(Sizes sizes) {
  return [sizes = std::move(sizes)] {
    Tensors all;
    for (const auto& s : sizes) all.push_back(torch::randn(s));
    return all;
  };
}
// Between 0.05 and 0.95.
inline std::function<Tensors()> uniform(Sizes sizes) {
  return [sizes = std::move(sizes)] {
    Tensors all;
    for (const auto& s : sizes) all.push_back(torch::rand(s) * 0.9 + 0.05);
    return all;
  };
}
// A normal tensor, then classes below `count`.
inline std::function<Tensors()> normal_and_classes(std::vector<int64_t> sizes, int64_t count,
                                                   std::vector<int64_t> class_sizes) {
  return [=] { return Tensors{torch::randn(sizes), torch::randint(count, class_sizes)}; };
}

// ---- Rows ----

inline constexpr auto on_first = [](auto& module, const Tensors& x) { return module(x[0]); };
inline constexpr auto on_two = [](auto& module, const Tensors& x) { return module(x[0], x[1]); };
inline constexpr auto on_three = [](auto& module, const Tensors& x) {
  return module(x[0], x[1], x[2]);
};

template <class Make, class Call = decltype(on_first)>
Row module(std::string name, Make make, std::function<Tensors()> inputs, Call call = on_first,
           std::string eager_reason = {}) {
  const auto build = [make, call] {
    auto holder = make();
    const std::shared_ptr<nn::Module> kept = holder.ptr();
    return Subject{kept,
                   [holder, call](const Tensors& x) mutable { return flat(call(holder, x)); }};
  };
  return {std::move(name), build, std::move(inputs), std::move(eager_reason)};
}

template <class Call>
Row functional(std::string name, std::function<Tensors()> inputs, Call call,
               std::string eager_reason = {}) {
  const auto build = [call] {
    return Subject{nullptr, [call](const Tensors& x) { return flat(call(x)); }};
  };
  return {std::move(name), build, std::move(inputs), std::move(eager_reason)};
}

std::vector<Row> module_rows();
std::vector<Row> functional_rows();

}  // namespace nn_rows
