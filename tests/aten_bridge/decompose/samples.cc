#include "tests/aten_bridge/decompose/samples.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/norm_except_dim.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/trace/boxed.h"

namespace aten_bridge {

using at::Scalar;
using at::Tensor;
using Ints = std::vector<int64_t>;

Tensor Draw::normal(Ints sizes, double scale, double mean) {
  return stored(at::empty(sizes, at::kDouble)
                    .normal_(mean, scale, at::make_generator<at::CPUGeneratorImpl>(state_++)));
}
Tensor Draw::uniform(Ints sizes, double low, double high) {
  return stored(at::empty(sizes, at::kDouble)
                    .uniform_(low, high, at::make_generator<at::CPUGeneratorImpl>(state_++)));
}
Tensor Draw::of(const std::vector<double>& values) {
  return stored(at::tensor(values, at::kDouble));
}
Tensor Draw::integers(Ints sizes, int64_t low, int64_t high) {
  return at::empty(sizes, at::kLong)
      .random_(low, high, at::make_generator<at::CPUGeneratorImpl>(state_++));
}
Tensor Draw::bools(Ints sizes) { return integers(sizes, 0, 2).to(at::kBool); }

namespace {

using Samples = std::vector<Stack>;
using SamplesOf = Samples (*)(Draw&);
const at::IValue kAbsent;
const std::array<bool, 3> kAll{true, true, true};

// Layouts and values that a pointwise operator meets: row-major, transposed, channels last, with
// gaps, edges.
std::vector<Tensor> plain(Draw& d) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return {d.normal({6, 33}, 2),
          d.normal({5, 7}, 2).t(),
          d.normal({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
          d.normal({4, 9}).slice(1, 0, 9, 2),
          d.normal({}),
          d.normal({0, 3}),
          d.of({-inf, -100, -20.5, -6, -3, -1, -0.5, -0.0, 0.0, 0.5, 1, 3, 6, 20.5, 100, inf,
                std::nan("")})};
}

std::vector<std::pair<Tensor, Tensor>> pairs(Draw& d) {
  std::vector<std::pair<Tensor, Tensor>> result;
  for (const Tensor& x : plain(d)) {
    if (!x.is_non_overlapping_and_dense()) continue;
    result.emplace_back(x, d.normal(x.sizes().vec()).as_strided(x.sizes(), x.strides()));
  }
  result.emplace_back(d.normal({4, 9}).slice(1, 0, 9, 2), d.normal({4, 5}));
  result.emplace_back(d.normal({5, 7}).t(), d.normal({7, 5}));
  result.emplace_back(d.normal({7, 5}), d.normal({5, 7}).t());
  return result;
}

Samples unary(Draw& d, Stack rest) {
  Samples result;
  for (const Tensor& x : plain(d)) {
    result.push_back({x});
    result.back().insert(result.back().end(), rest.begin(), rest.end());
  }
  return result;
}

Samples binary(Draw& d, Stack rest) {
  Samples result;
  for (const auto& [x, y] : pairs(d)) {
    result.push_back({y, x});  // the gradient, then the value with the edges
    result.back().insert(result.back().end(), rest.begin(), rest.end());
  }
  return result;
}

Samples operator+(Samples a, Samples b) {
  a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  return a;
}

Samples elementwise_loss(Draw& d, Stack rest, bool probabilities, bool weighted) {
  Samples result;
  for (int64_t reduction : {0, 1, 2})
    for (bool weight : {false, true}) {
      if (weight && !weighted) continue;
      Stack args{probabilities ? d.uniform({5, 9}, 0, 1) : d.normal({5, 9}),
                 probabilities ? d.uniform({5, 9}, 0, 1) : d.normal({5, 9})};
      if (weighted) args.push_back(weight ? at::IValue(d.uniform({9}, 0, 2)) : kAbsent);
      args.emplace_back(reduction);
      args.insert(args.end(), rest.begin(), rest.end());
      result.push_back(args);
    }
  return result;
}

// The forward's samples with the gradient that belongs to the reduction in front.
Samples with_gradient(Draw& d, Samples forward, size_t reduction_at) {
  for (Stack& args : forward) {
    const bool whole = args[reduction_at].toInt() == 0;
    args.insert(args.begin(), whole ? d.normal(args[0].toTensor().sizes().vec()) : d.normal({}));
  }
  return forward;
}

Samples nll(Draw& d, Ints input, Ints target, bool backward) {
  Samples result;
  const int64_t classes = input.size() == 1 ? input[0] : input[1];
  for (int64_t reduction : {0, 1, 2})
    for (bool weighted : {false, true})
      for (int64_t ignore : {-100, 2}) {
        const Tensor t = d.integers(target, 0, classes);
        if (t.numel() > 2) t.view({-1})[1] = ignore;
        Stack args{d.uniform(input, -5, 0), t,
                   weighted ? at::IValue(d.uniform({classes}, 0.5, 2)) : kAbsent, reduction,
                   ignore};
        if (backward) {
          args.insert(args.begin(), d.normal(reduction == 0 ? target : Ints{}));
          args.push_back(d.uniform({}, 3, 4));
        }
        result.push_back(args);
      }
  return result;
}

Samples layer_norm(Draw& d) {
  Samples result;
  for (const auto& [sizes, inner] : std::vector<std::pair<Ints, Ints>>{
           {{6, 64}, {64}}, {{2, 3, 4, 5}, {4, 5}}, {{7}, {7}}, {{3, 5, 256}, {256}}})
    for (double mean : {0.0, 3.0})
      for (bool affine : {true, false})
        result.push_back({d.normal(sizes, 1, mean), inner,
                          affine ? at::IValue(d.normal(inner)) : kAbsent,
                          affine ? at::IValue(d.normal(inner)) : kAbsent, 1e-5});
  result.push_back({d.normal({8, 6}).t(), Ints{8}, d.normal({8}), d.normal({8}), 1e-5});
  return result;
}

Samples layer_norm_backward(Draw& d) {
  Samples result;
  for (const Stack& args : layer_norm(d)) {
    const Tensor x = args[0].toTensor();
    const int64_t axis = x.dim() - static_cast<int64_t>(args[1].toIntVector().size());
    Ints inner, kept = x.sizes().vec();
    for (int64_t i = axis; i < x.dim(); ++i) inner.push_back(i), kept[i] = 1;
    const Tensor mean = x.mean(inner, true);
    const Tensor rstd = x.to(at::kDouble).var(inner, /*unbiased=*/false, true).add(1e-5).rsqrt();
    const bool affine = !args[2].isNone();
    for (auto mask :
         {kAll, std::array<bool, 3>{true, false, false}, std::array<bool, 3>{false, true, true}}) {
      if (!affine && (mask[1] || mask[2])) continue;
      result.push_back({d.normal(x.sizes().vec()), x, args[1], mean, rstd.to(mean.scalar_type()),
                        args[2], args[3], mask});
    }
  }
  return result;
}

std::vector<Tensor> images(Draw& d) {
  return {d.normal({4, 3, 5, 6}), d.normal({4, 3, 5, 6}).contiguous(at::MemoryFormat::ChannelsLast),
          d.normal({16, 3}), d.normal({4, 3, 7}, 1, 5)};
}

// `statistics`: whether running mean and variance stand among the arguments; `training`: both, or
// no such argument.
Samples batch_norm(Draw& d, bool statistics, bool says_training, std::vector<bool> trainings) {
  Samples result;
  for (const Tensor& x : images(d))
    for (bool training : trainings)
      for (bool affine : {true, false}) {
        const Ints c{x.size(1)};
        Stack args{x, affine ? at::IValue(d.normal(c)) : kAbsent,
                   affine ? at::IValue(d.normal(c)) : kAbsent};
        if (statistics) args.insert(args.end(), {d.normal(c), d.uniform(c, 0.5, 2)});
        if (says_training) args.emplace_back(training);
        args.insert(args.end(), {0.1, 1e-5});
        result.push_back(args);
      }
  return result;
}

Samples batch_norm_backward(Draw& d) {
  Samples result;
  for (const Tensor& x : images(d))
    for (bool training : {true, false})
      for (bool affine : {true, false}) {
        const Ints c{x.size(1)};
        const Tensor rows = x.transpose(0, 1).flatten(1);
        result.push_back({d.normal(x.sizes().vec()).contiguous(x.suggest_memory_format()), x,
                          affine ? at::IValue(d.normal(c)) : kAbsent, d.normal(c),
                          d.uniform(c, 0.5, 2), rows.mean(1), rows.var(1, false).add(1e-5).rsqrt(),
                          training, 1e-5, affine ? kAll : std::array<bool, 3>{true, false, false}});
      }
  return result;
}

Samples group_norm(Draw& d, bool backward) {
  Samples result;
  std::vector<Tensor> inputs{d.normal({2, 6, 4, 5}), d.normal({2, 6, 7}),
                             d.normal({2, 6, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)};
  for (const Tensor& x : inputs)
    for (bool affine : {true, false}) {
      const int64_t n = 2, c = 6, group = 3, hxw = x.numel() / (n * c);
      const at::IValue weight = affine ? at::IValue(d.normal({c})) : kAbsent;
      if (!backward) {
        result.push_back(
            {x, weight, affine ? at::IValue(d.normal({c})) : kAbsent, n, c, hxw, group, 1e-5});
        continue;
      }
      const Tensor rows = x.contiguous().view({n, group, -1});
      result.push_back({d.normal(x.sizes().vec()).contiguous(x.suggest_memory_format()), x,
                        rows.mean(2), rows.var(2, false).add(1e-5).rsqrt(), weight, n, c, hxw,
                        group, affine ? kAll : std::array<bool, 3>{true, false, false}});
    }
  return result;
}

Samples softmax(Draw& d) {
  return {{d.normal({5, 33}, 3), int64_t{-1}, false},
          {d.normal({5, 33}, 3), int64_t{0}, false},
          {d.normal({2, 3, 7}).transpose(0, 2), int64_t{1}, false},
          {d.normal({4, 6}, 1, 1000), int64_t{1}, false},
          {d.normal({}), int64_t{0}, false},
          {d.normal({0, 3}), int64_t{1}, false},
          {d.normal({3, 0}), int64_t{1}, false}};
}

Samples safe_softmax(Draw& d) {
  const Tensor masked = d.normal({3, 4, 5});
  masked.select(1, 2).fill_(-INFINITY);  // rows without a key
  masked.select(2, 0).fill_(-INFINITY);  // and rows with some
  return {{d.normal({5, 33}, 3), int64_t{-1}, kAbsent}, {masked, int64_t{-1}, kAbsent}};
}

Samples softmax_backward(Draw& d, bool log) {
  Samples result;
  for (const Stack& args : softmax(d)) {
    const Tensor x = args[0].toTensor();
    const int64_t dim = args[1].toInt();
    result.push_back({d.normal(x.sizes().vec()), log ? x.log_softmax(dim) : x.softmax(dim), dim,
                      static_cast<int64_t>(d.type())});
  }
  return result;
}

// Arguments `dims` and keepdim of a reduction, then the rest.
Samples reduction(Draw& d, std::vector<Stack> middle_and_rest(Stack dims_then_keepdim)) {
  Samples result;
  for (const Tensor& x :
       {d.normal({5, 33}), d.normal({2, 3, 7}).transpose(0, 2), d.normal({4, 6}, 1, 50)})
    for (bool keepdim : {false, true})
      for (const at::IValue& dims :
           {at::IValue(Ints{1}), at::IValue(Ints{0, -1}), at::IValue(Ints{})})
        for (Stack rest : middle_and_rest({dims, keepdim})) {
          rest.insert(rest.begin(), x);
          result.push_back(rest);
        }
  return result;
}

Samples corrected(Draw& d) {
  return reduction(d, [](Stack a) -> std::vector<Stack> {
    return {{a[0], Scalar(1), a[1]}, {a[0], kAbsent, a[1]}, {a[0], Scalar(0), a[1]}};
  });
}

Samples products(Tensor self, Tensor a, Tensor b) {
  return {{self, a, b, Scalar(1), Scalar(1)},
          {self, a, b, Scalar(0.5), Scalar(2)},
          {self, a, b, Scalar(0), Scalar(1)}};
}

Samples dot(Draw& d) {
  return {{d.normal({33}), d.normal({33})},
          {d.normal({0}), d.normal({0})},
          {d.integers({7}, -9, 9), d.integers({7}, -9, 9)}};
}

// One argument of an operator over lists, by its type.
at::IValue foreach_argument(const c10::Argument& argument, Draw& d) {
  if (argument.default_value()) return *argument.default_value();
  if (argument.type()->isSubtypeOf(*c10::ListType::ofTensors()))
    return std::vector<Tensor>{d.uniform({3, 4}, 0, 1), d.normal({5, 2}).t(), d.uniform({}, 1, 2)};
  if (argument.type()->kind() == c10::TypeKind::TensorType) return d.uniform({}, 1, 2);
  if (argument.type()->kind() == c10::TypeKind::ListType)
    return c10::IValue(c10::List<Scalar>({Scalar(0.5), Scalar(1.5), Scalar(2.5)}));
  return Scalar(1.5);
}

Samples samples_of_foreach(std::string_view op, Draw& d) {
  Stack args;
  for (const c10::Argument& argument : find_operator(op).schema().arguments())
    args.push_back(foreach_argument(argument, d));
  return {args};
}

// Three steps of an optimizer's choices: plain; decay and a largest square or a momentum; a scaler.
Samples adam(Draw& d, bool tensor_lr) {
  Samples result;
  for (int variant : {0, 1, 2}) {
    const auto list = [&](double low, double high) {
      return std::vector<Tensor>{d.uniform({3, 4}, low, high), d.uniform({5}, low, high)};
    };
    const bool amsgrad = variant == 1;
    std::vector<Tensor> steps{at::full({}, 3, at::kFloat), at::full({}, 3, at::kFloat)};
    result.push_back({list(-1, 1), list(-1, 1), list(-1, 1), list(0, 1),
                      amsgrad ? list(0, 1) : std::vector<Tensor>{}, steps,
                      tensor_lr ? at::IValue(at::full({}, 0.01, at::kFloat)) : at::IValue(0.01),
                      0.9, 0.99, variant == 0 ? 0.0 : 0.1, 1e-8, amsgrad, variant == 2,
                      variant == 2 ? at::IValue(at::full({}, 4, at::kFloat)) : kAbsent,
                      variant == 2 ? at::IValue(at::zeros({}, at::kFloat)) : kAbsent});
  }
  return result;
}

Samples sgd(Draw& d, bool tensor_lr) {
  Samples result;
  for (int variant : {0, 1, 2, 3}) {
    const auto list = [&] { return std::vector<Tensor>{d.normal({3, 4}), d.normal({5})}; };
    result.push_back({list(), list(), variant == 0 ? std::vector<Tensor>{} : list(),
                      variant == 0 ? 0.0 : 0.1, variant == 0 ? 0.0 : 0.9,
                      tensor_lr ? at::IValue(at::full({}, 0.01, at::kFloat)) : at::IValue(0.01),
                      variant == 1 ? 0.5 : 0.0, variant == 2, variant == 2, variant == 3,
                      variant == 2 ? at::IValue(at::full({}, 4, at::kFloat)) : kAbsent,
                      variant == 2 ? at::IValue(at::zeros({}, at::kFloat)) : kAbsent});
  }
  return result;
}

Samples rms_norm(Draw& d) {
  Samples result;
  for (const auto& [sizes, inner] : std::vector<std::pair<Ints, Ints>>{
           {{6, 64}, {64}}, {{2, 3, 4, 5}, {4, 5}}, {{7}, {7}}, {{3, 5, 256}, {256}}})
    for (bool affine : {true, false})
      result.push_back({d.normal(sizes, 1, 1), inner,
                        affine ? at::IValue(d.normal(inner)) : kAbsent,
                        affine ? at::IValue(1e-3) : kAbsent});
  return result;
}

Tensor rstd_of(const Tensor& x, const Ints& inner) {
  Ints dims;
  for (size_t i = 0; i < inner.size(); ++i) dims.push_back(-1 - static_cast<int64_t>(i));
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return x.to(at::kDouble).pow(2).mean(dims, true).add(1e-3).rsqrt().to(type);
}

Tensor wide(const Tensor& x) { return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat); }

Samples rms_norm_backward(Draw& d) {
  Samples result;
  for (const Stack& args : rms_norm(d)) {
    const Tensor x = args[0].toTensor();
    result.push_back({d.normal(x.sizes().vec()), x, args[1], rstd_of(x, args[1].toIntVector()),
                      args[2], std::array<bool, 2>{true, !args[2].isNone()}});
  }
  return result;
}

// By autograd of the forward's formula; only CUDA has the operator.
std::vector<Tensor> rms_norm_gradients(const Stack& args) {
  const c10::AutoGradMode grad_mode(true);
  const Tensor x = args[1].toTensor().detach().requires_grad_();
  const bool affine = !args[4].isNone();
  const Tensor w = affine ? args[4].toTensor().detach().requires_grad_() : Tensor();
  at::rms_norm(x, args[2].toIntVector(), affine ? std::optional(w) : std::nullopt, 1e-3)
      .backward(args[0].toTensor());
  return {x.grad(), affine ? w.grad() : Tensor()};
}

// Gates of `parts` units, with and without biases.
Samples cell(Draw& d, int64_t parts) {
  constexpr int64_t kRows = 3, kUnits = 5;
  Samples result;
  for (bool biased : {true, false}) {
    const auto bias = [&] { return biased ? at::IValue(d.normal({parts * kUnits})) : kAbsent; };
    result.push_back({d.normal({kRows, parts * kUnits}), d.normal({kRows, parts * kUnits}),
                      d.normal({kRows, kUnits}), bias(), bias()});
  }
  return result;
}

// The formulas of the cells; only CUDA has the operators.
Tensor gates_of(const Stack& args, int which) {
  const Tensor gates = args[which].toTensor();
  const at::IValue& bias = args[3 + which];
  return wide(gates).add(bias.isNone() ? at::zeros({}) : wide(bias.toTensor()));
}

std::vector<Tensor> lstm_cell_of(const Tensor& gates, const Tensor& cx) {
  auto parts = gates.chunk(4, 1);
  for (int i : {0, 1, 3}) parts[i] = parts[i].sigmoid();
  parts[2] = parts[2].tanh();
  const Tensor cy = parts[1] * cx + parts[0] * parts[2];
  return {parts[3] * cy.tanh(), cy, at::cat(parts, 1)};
}

std::vector<Tensor> gru_cell_of(const Tensor& input, const Tensor& hidden, const Tensor& hx) {
  const auto in = input.chunk(3, 1), own = hidden.chunk(3, 1);
  const Tensor r = (in[0] + own[0]).sigmoid(), z = (in[1] + own[1]).sigmoid();
  const Tensor n = (in[2] + r * own[2]).tanh();
  return {(1 - z) * n + z * hx, at::cat({r, z, n, hx, own[2]}, 1)};
}

std::vector<Tensor> as_stored(std::vector<Tensor> results, const Tensor& like) {
  for (Tensor& t : results)
    if (t.defined()) t = t.to(like.scalar_type());
  return results;
}

std::vector<Tensor> lstm_cell_results(const Stack& args) {
  const Tensor cx = args[2].toTensor();
  return as_stored(lstm_cell_of(gates_of(args, 0) + gates_of(args, 1), wide(cx)), cx);
}

std::vector<Tensor> gru_cell_results(const Stack& args) {
  const Tensor hx = args[2].toTensor();
  return as_stored(gru_cell_of(gates_of(args, 0), gates_of(args, 1), wide(hx)), hx);
}

// The gates before their functions, from those that the forward kept.
Tensor before_sigmoid(const Tensor& sigmoid) { return (sigmoid / (1 - sigmoid)).log(); }

Samples lstm_cell_backward(Draw& d) {
  Samples result;
  for (const Stack& args : cell(d, 4)) {
    const Tensor cx = args[2].toTensor();
    const auto forward = lstm_cell_results(args);
    const bool biased = !args[3].isNone();
    result.push_back({d.normal({3, 5}), d.normal({3, 5}), cx, forward[1], forward[2], biased});
    result.push_back({d.normal({3, 5}), kAbsent, cx, forward[1], forward[2], biased});
  }
  return result;
}

std::vector<Tensor> lstm_cell_gradients(const Stack& args) {
  const c10::AutoGradMode grad_mode(true);
  auto parts = wide(args[4].toTensor()).chunk(4, 1);
  for (int i : {0, 1, 3}) parts[i] = before_sigmoid(parts[i]);
  parts[2] = parts[2].atanh();
  const Tensor gates = at::cat(parts, 1).detach().requires_grad_();
  const Tensor cx = wide(args[2].toTensor()).detach().requires_grad_();
  const auto results = lstm_cell_of(gates, cx);
  Tensor loss = (results[0] * wide(args[0].toTensor())).sum();
  if (!args[1].isNone()) loss = loss + (results[1] * wide(args[1].toTensor())).sum();
  loss.backward();
  const auto stored = as_stored({gates.grad(), cx.grad()}, args[4].toTensor());
  return {stored[0], stored[1], args[5].toBool() ? stored[0].sum(at::IntArrayRef{0}) : Tensor()};
}

Samples gru_cell_backward(Draw& d) {
  Samples result;
  for (const Stack& args : cell(d, 3))
    result.push_back({d.normal({3, 5}), gru_cell_results(args)[1], !args[3].isNone()});
  return result;
}

std::vector<Tensor> gru_cell_gradients(const Stack& args) {
  const c10::AutoGradMode grad_mode(true);
  const auto kept = wide(args[1].toTensor()).chunk(5, 1);
  const Tensor own = at::cat({kept[0] * 0, kept[1] * 0, kept[4]}, 1).detach().requires_grad_();
  const Tensor in = at::cat({before_sigmoid(kept[0]), before_sigmoid(kept[1]),
                             kept[2].atanh() - kept[0] * kept[4]},
                            1)
                        .detach()
                        .requires_grad_();
  const Tensor hx = kept[3].detach().requires_grad_();
  gru_cell_of(in, own, hx)[0].backward(wide(args[0].toTensor()));
  auto stored = as_stored({in.grad(), own.grad(), hx.grad()}, args[1].toTensor());
  const bool biased = args[2].toBool();
  for (int i : {0, 1}) stored.push_back(biased ? stored[i].sum(at::IntArrayRef{0}) : Tensor());
  return stored;
}

Samples weight_norm(Draw& d, bool backward) {
  Samples result;
  for (int64_t dim : {0, 2}) {
    Ints kept{1, 1, 1};
    kept[dim] = Ints{4, 3, 5}[dim];
    const Tensor v = d.normal({4, 3, 5}), g = d.normal(kept);
    const auto type = v.scalar_type() == at::kBFloat16 ? at::kFloat : v.scalar_type();
    const Tensor norms = at::norm_except_dim(v.to(at::kDouble), 2, dim).to(type);
    if (backward) {
      result.push_back({d.normal({4, 3, 5}), v, g, norms, dim});
    } else {
      result.push_back({v, g, dim});
    }
  }
  return result;
}

Samples cdist(Draw& d) {
  Samples result;
  for (double p : {0.0, 0.5, 1.0, 2.0, 3.0, HUGE_VAL})
    for (int64_t mode : {0, 2}) {
      result.push_back({d.normal({4, 6}), d.normal({5, 6}), p, mode});
      result.push_back({d.normal({2, 1, 4, 6}), d.normal({3, 5, 6}), p, mode});
    }
  return result;
}

// With a bias and, forward, without.
Samples convolutions(Draw& d, bool backward) {
  const auto last = [](const Tensor& t) { return t.contiguous(at::MemoryFormat::ChannelsLast); };
  struct Case {
    Tensor input, weight;
    Ints stride, padding, dilation, output_padding;
    bool transposed;
    int64_t groups;
    Ints output;
  };
  const std::vector<Case> cases{
      {d.normal({2, 4, 9}), d.normal({6, 4, 3}), {2}, {1}, {1}, {0}, false, 1, {2, 6, 5}},
      {d.normal({2, 4, 5, 7}),
       d.normal({6, 2, 3, 3}),
       {1, 1},
       {2, 2},
       {2, 2},
       {0, 0},
       false,
       2,
       {2, 6, 5, 7}},
      {last(d.normal({2, 4, 5, 7})),
       last(d.normal({4, 1, 3, 3})),
       {1, 1},
       {1, 1},
       {1, 1},
       {0, 0},
       false,
       4,
       {2, 4, 5, 7}},
      {d.normal({2, 4, 5, 3}),
       d.normal({4, 6, 3, 3}),
       {2, 2},
       {1, 1},
       {1, 1},
       {1, 1},
       true,
       1,
       {2, 6, 10, 6}},
  };
  Samples result;
  for (const Case& c : cases) {
    const auto add = [&](Stack args) {
      args.insert(args.end(),
                  {c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups});
      result.push_back(std::move(args));
    };
    const int64_t channels = c.output[1];
    if (!backward) {
      add({c.input, c.weight, d.normal({channels})});
      add({c.input, c.weight, kAbsent});
      continue;
    }
    // oneDNN gives the weight's with the bias's.
    for (const std::array<bool, 3> mask : {kAll, std::array{false, true, true}}) {
      add({d.normal(c.output), c.input, c.weight, Ints{channels}});
      result.back().emplace_back(mask);
    }
  }
  return result;
}

// clang-format off
const std::map<std::string_view, SamplesOf> kSamples = {
    // activation
    {"aten::_prelu_kernel", [](Draw& d) { return Samples{{d.normal({4, 3, 5}), d.normal({1, 3, 1})}}; }},
    {"aten::_prelu_kernel_backward", [](Draw& d) { return Samples{{d.normal({4, 3, 5}), d.normal({4, 3, 5}), d.normal({1, 3, 1})}}; }},
    {"aten::log_sigmoid_forward", [](Draw& d) { return Samples{{d.normal({6, 33}, 3)}, {d.of({-100, -20, 0, 20, 100})}}; }},
    {"aten::log_sigmoid_backward", [](Draw& d) {
       const Tensor x = d.normal({6, 33}, 3);
       return Samples{{d.normal({6, 33}), x, x.abs().neg().exp()}}; }},
    {"aten::hardshrink", [](Draw& d) { return unary(d, {Scalar(0.5)}); }},
    {"aten::hardshrink_backward", [](Draw& d) { return binary(d, {Scalar(0.5)}); }},
    {"aten::softshrink", [](Draw& d) { return unary(d, {Scalar(0.5)}); }},
    {"aten::softshrink_backward", [](Draw& d) { return binary(d, {Scalar(0.5)}); }},
    {"aten::glu", [](Draw& d) { return Samples{{d.normal({4, 6}), int64_t{-1}}, {d.normal({4, 6}), int64_t{0}}}; }},
    {"aten::glu_backward", [](Draw& d) { return Samples{{d.normal({4, 3}), d.normal({4, 6}), int64_t{-1}}, {d.normal({2, 6}), d.normal({4, 6}), int64_t{0}}}; }},
    {"aten::rrelu_with_noise_functional", [](Draw& d) { return Samples{{d.normal({6, 33}), d.uniform({6, 33}, 0, 1), Scalar(0.125), Scalar(0.25), false, kAbsent}}; }},
    // distance
    {"aten::_cdist_forward", cdist},
    {"aten::_euclidean_dist", [](Draw& d) { return Samples{{d.normal({4, 6}), d.normal({5, 6})}, {d.normal({2, 30, 3}), d.normal({2, 7, 3})}}; }},
    {"aten::_trilinear", [](Draw& d) { return Samples{{d.normal({4, 3}), d.normal({2, 3, 5}), d.normal({4, 5}), Ints{1, 3}, Ints{0}, Ints{1, 2}, Ints{2, 3}, int64_t{1}}}; }},
    // dropout
    {"aten::native_dropout", [](Draw& d) { return unary(d, {0.25, true}) + unary(d, {0.25, false}) + unary(d, {1.0, true}); }},
    {"aten::bernoulli.p", [](Draw& d) { return unary(d, {0.25, kAbsent}); }},
    // loss
    {"aten::mse_loss", [](Draw& d) { return elementwise_loss(d, {}, false, false); }},
    {"aten::mse_loss_backward", [](Draw& d) { return with_gradient(d, elementwise_loss(d, {}, false, false), 2); }},
    {"aten::smooth_l1_loss", [](Draw& d) { return elementwise_loss(d, {1.0}, false, false) + elementwise_loss(d, {0.25}, false, false); }},
    {"aten::smooth_l1_loss_backward", [](Draw& d) { return with_gradient(d, elementwise_loss(d, {0.25}, false, false), 2); }},
    {"aten::huber_loss", [](Draw& d) { return elementwise_loss(d, {0.75}, false, false); }},
    {"aten::huber_loss_backward", [](Draw& d) { return with_gradient(d, elementwise_loss(d, {0.75}, false, false), 2); }},
    {"aten::soft_margin_loss", [](Draw& d) { return elementwise_loss(d, {}, false, false); }},
    {"aten::soft_margin_loss_backward", [](Draw& d) { return with_gradient(d, elementwise_loss(d, {}, false, false), 2); }},
    {"aten::binary_cross_entropy", [](Draw& d) { return elementwise_loss(d, {}, true, true); }},
    {"aten::binary_cross_entropy_backward", [](Draw& d) { return with_gradient(d, elementwise_loss(d, {}, true, true), 3); }},
    {"aten::binary_cross_entropy_with_logits", [](Draw& d) {
       Samples result;
       for (int64_t reduction : {0, 1, 2})
         for (bool weighted : {false, true})
           result.push_back({d.normal({5, 9}, 30), d.uniform({5, 9}, 0, 1),
                             weighted ? at::IValue(d.uniform({9}, 0, 2)) : kAbsent,
                             weighted ? at::IValue(d.uniform({9}, 0, 2)) : kAbsent, reduction});
       return result; }},
    {"aten::nll_loss_forward", [](Draw& d) { return nll(d, {9, 5}, {9}, false) + nll(d, {5}, {}, false); }},
    {"aten::nll_loss_backward", [](Draw& d) { return nll(d, {9, 5}, {9}, true) + nll(d, {5}, {}, true); }},
    {"aten::nll_loss2d_forward", [](Draw& d) { return nll(d, {2, 5, 3, 4}, {2, 3, 4}, false); }},
    {"aten::nll_loss2d_backward", [](Draw& d) { return nll(d, {2, 5, 3, 4}, {2, 3, 4}, true); }},
    // convolution
    {"aten::convolution", [](Draw& d) { return convolutions(d, false); }},
    {"aten::convolution_backward", [](Draw& d) { return convolutions(d, true); }},
    // matmul
    {"aten::addmm", [](Draw& d) { return products(d.normal({7}), d.normal({5, 33}), d.normal({33, 7})) + products(d.normal({5, 7}), d.normal({5, 3}), d.normal({7, 3}).t()); }},
    {"aten::addmv", [](Draw& d) { return products(d.normal({5}), d.normal({5, 33}), d.normal({33})); }},
    {"aten::baddbmm", [](Draw& d) { return products(d.normal({2, 5, 7}), d.normal({2, 5, 33}), d.normal({2, 33, 7})) + products(d.normal({7}), d.normal({2, 5, 3}), d.normal({2, 3, 7})); }},
    {"aten::addbmm", [](Draw& d) { return products(d.normal({5, 7}), d.normal({3, 5, 33}), d.normal({3, 33, 7})) + products(d.normal({7}), d.normal({2, 5, 3}), d.normal({2, 3, 7})); }},
    {"aten::mv", [](Draw& d) { return Samples{{d.normal({5, 33}), d.normal({33})}, {d.normal({33, 5}).t(), d.normal({33})}, {d.integers({5, 7}, -9, 9), d.integers({7}, -9, 9)}, {d.normal({5, 0}), d.normal({0})}}; }},
    {"aten::dot", dot}, {"aten::vdot", dot},
    // norm
    {"aten::native_layer_norm", layer_norm},
    {"aten::native_layer_norm_backward", layer_norm_backward},
    {"aten::_native_batch_norm_legit_functional", [](Draw& d) { return batch_norm(d, true, true, {true, false}); }},
    {"aten::_native_batch_norm_legit.no_stats", [](Draw& d) { return batch_norm(d, false, true, {true}); }},
    {"aten::_native_batch_norm_legit_no_training", [](Draw& d) { return batch_norm(d, true, false, {false}); }},
    {"aten::native_batch_norm", [](Draw& d) { return batch_norm(d, true, true, {true, false}); }},
    {"aten::native_batch_norm_backward", batch_norm_backward},
    {"aten::_batch_norm_with_update_functional", [](Draw& d) { return batch_norm(d, true, false, {true}); }},
    {"aten::_batch_norm_no_update", [](Draw& d) { return batch_norm(d, true, false, {false}); }},
    {"aten::batch_norm_backward", [](Draw& d) {
       Samples result;
       for (Stack args : batch_norm_backward(d)) {
         if (args[2].isNone()) continue;  // its weight is not optional
         args.emplace_back(at::empty({0}, at::kByte));
         result.push_back(args);
       }
       return result; }},
    {"aten::native_group_norm", [](Draw& d) { return group_norm(d, false); }},
    {"aten::native_group_norm_backward", [](Draw& d) { return group_norm(d, true); }},
    // optimizer
    {"aten::_fused_adam", [](Draw& d) { return adam(d, false); }},
    {"aten::_fused_adam.tensor_lr", [](Draw& d) { return adam(d, true); }},
    {"aten::_fused_adamw", [](Draw& d) { return adam(d, false); }},
    {"aten::_fused_adamw.tensor_lr", [](Draw& d) { return adam(d, true); }},
    {"aten::_fused_sgd", [](Draw& d) { return sgd(d, false); }},
    {"aten::_fused_sgd.tensor_lr", [](Draw& d) { return sgd(d, true); }},
    // pointwise
    {"aten::where.Scalar", [](Draw& d) { return Samples{{d.bools({4, 5}), Scalar(1.5), Scalar(2)}, {d.bools({4, 5}), Scalar(1), Scalar(2)}, {d.bools({4}), Scalar(true), Scalar(false)}}; }},
    {"aten::where.ScalarSelf", [](Draw& d) { return Samples{{d.bools({4, 5}), Scalar(1.5), d.normal({5})}, {d.bools({4, 5}), Scalar(1.5), d.integers({5}, 0, 9)}}; }},
    {"aten::where.ScalarOther", [](Draw& d) { return Samples{{d.bools({4, 5}), d.normal({5}), Scalar(1.5)}, {d.bools({4, 5}), d.integers({5}, 0, 9), Scalar(1.5)}}; }},
    // reduce
    {"aten::var.correction", corrected},
    {"aten::std.correction", corrected},
    {"aten::var_mean.correction", corrected},
    {"aten::std_mean.correction", corrected},
    {"aten::linalg_vector_norm", [](Draw& d) {
       return reduction(d, [](Stack a) -> std::vector<Stack> {
         std::vector<Stack> result;
         for (double p : {0.0, 1.0, 2.0, 3.0, HUGE_VAL, -HUGE_VAL}) result.push_back({Scalar(p), a[0], a[1], kAbsent});
         return result; }); }},
    {"aten::renorm", [](Draw& d) {
       Samples result;
       for (double p : {1.0, 2.0, 3.0, HUGE_VAL})
         for (int64_t dim : {0, -1}) result.push_back({d.normal({5, 33}), Scalar(p), dim, Scalar(5)});
       return result; }},
    {"aten::logsumexp", [](Draw& d) { return reduction(d, [](Stack a) -> std::vector<Stack> { return a[0].toIntVector().empty() ? std::vector<Stack>{} : std::vector<Stack>{{a[0], a[1]}}; }) + Samples{{d.of({-HUGE_VAL, -HUGE_VAL}), Ints{0}, false}, {d.of({HUGE_VAL, 1}), Ints{0}, false}}; }},
    // scaled norms
    {"aten::_fused_rms_norm", rms_norm},
    {"aten::_fused_rms_norm_backward", rms_norm_backward},
    {"aten::_weight_norm_interface", [](Draw& d) { return weight_norm(d, false); }},
    {"aten::_weight_norm_interface_backward", [](Draw& d) { return weight_norm(d, true); }},
    // softmax
    {"aten::_thnn_fused_gru_cell", [](Draw& d) { return cell(d, 3); }},
    {"aten::_thnn_fused_gru_cell_backward", gru_cell_backward},
    {"aten::_thnn_fused_lstm_cell", [](Draw& d) { return cell(d, 4); }},
    {"aten::_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward},
    {"aten::_softmax", softmax},
    {"aten::_safe_softmax", safe_softmax},
    {"aten::_log_softmax", softmax},
    {"aten::_softmax_backward_data", [](Draw& d) { return softmax_backward(d, false); }},
    {"aten::_log_softmax_backward_data", [](Draw& d) { return softmax_backward(d, true); }},
};
// clang-format on

}  // namespace

std::vector<Stack> samples(std::string_view op, Draw draw) {
  if (op.starts_with("aten::_foreach_")) return samples_of_foreach(op, draw);
  const auto it = kSamples.find(op);
  if (it == kSamples.end()) return {};
  return it->second(draw);
}

Reference reference_of(std::string_view op) {
  static const std::map<std::string_view, Reference> references = {
      {"aten::_fused_rms_norm_backward", rms_norm_gradients},
      {"aten::_thnn_fused_gru_cell", gru_cell_results},
      {"aten::_thnn_fused_gru_cell_backward", gru_cell_gradients},
      {"aten::_thnn_fused_lstm_cell", lstm_cell_results},
      {"aten::_thnn_fused_lstm_cell_backward_impl", lstm_cell_gradients},
  };
  const auto found = references.find(op);
  return found == references.end() ? nullptr : found->second;
}

}  // namespace aten_bridge
