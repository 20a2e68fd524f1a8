// Pooling: a nest over the output with a reduction over the window. Gradients are gathered: a nest
// over the input with a reduction over the windows that an element lies in, so that no two
// iterations write the same element.
#include <limits>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/windows.h"

namespace inductor {
namespace {

constexpr auto kReduction = OpKind::kReduction;

struct Pooling {
  std::vector<Windows> windows;  // one a pooled dimension, which are the last ones
  bool with_padding = false;     // a mean counts it
  std::optional<int64_t> divisor;
};

bool has(const Node& node, std::string_view arg) {
  for (const auto& argument : node.args)
    if (argument.name == arg) return !is_none(node, arg);
  return false;
}

// `in` and `out`: the sizes pooled from and to; `rank`: how many dimensions are pooled.
Verdict read_pooling(const Node& node, const std::vector<SymExpr>& in,
                     const std::vector<SymExpr>& out, size_t rank, Pooling* p) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const std::vector<int64_t> from = known(in), to = known(out);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] <= 0 || to[d] <= 0) return Verdict::no("sizes that are zero or not known");
  const size_t first = in.size() - rank;
  const bool adaptive = !has(node, "kernel_size");
  std::vector<int64_t> kernel, stride, padding, dilation(rank, 1);
  if (!adaptive) {
    kernel = spread(node, "kernel_size", rank, {});
    stride = spread(node, "stride", rank, kernel);
    padding = spread(node, "padding", rank, std::vector<int64_t>(rank, 0));
    if (has(node, "dilation")) dilation = spread(node, "dilation", rank, dilation);
  }
  for (size_t d = 0; d < rank; ++d)
    p->windows.push_back(adaptive ? Windows::adaptive(from[first + d], to[first + d])
                                  : Windows::strided(from[first + d], to[first + d], kernel[d],
                                                     stride[d], padding[d], dilation[d]));
  p->with_padding = has(node, "count_include_pad") && flag(node, "count_include_pad");
  if (has(node, "divisor_override")) p->divisor = integer(node, "divisor_override").constant();
  return Verdict::yes();
}

// Loops over `sizes` and, inside, over what is visited for each element.
struct Walk {
  Nest nest;                   // with the inner loops, where there are any
  std::vector<SymExpr> outer;  // the element
  std::vector<Visit> visits;   // one a pooled dimension
  bool reduces = false;
  std::vector<SymExpr> place;  // that is visited
};

using Step = Visit (Windows::*)(const SymExpr&, const SymExpr&) const;
using Most = int64_t (Windows::*)() const;

Walk walk(Builder& b, const std::vector<SymExpr>& sizes, const Pooling& p, Step step, Most most) {
  Walk w;
  w.nest = b.nest(sizes);
  w.outer = w.place = w.nest.vars;
  const size_t first = sizes.size() - p.windows.size();
  for (size_t d = 0; d < p.windows.size(); ++d) {
    const int64_t extent = (p.windows[d].*most)();
    SymExpr j = 0;
    if (extent > 1) {
      j = b.add_level(w.nest, extent, LoopKind::kReduction);
      w.reduces = true;
    }
    w.visits.push_back((p.windows[d].*step)(w.outer[first + d], j));
    w.place[first + d] = w.visits.back().at;
  }
  return w;
}

// Reduces `value` into a new buffer of the type, or stores it where there is nothing to reduce.
TensorRef reduce(Builder& b, const Walk& w, TensorType type, ReduceOp op, const Term& value) {
  type.dtype = value.dtype();
  const TensorRef to = b.new_ref(type);
  const SymExpr address = b.address(to, w.outer);
  if (w.reduces) {
    b.emit(w.nest, Reduce{to.buffer, address, op, value.expr});
  } else {
    b.emit(w.nest, Store{to.buffer, address, value.expr});
  }
  return to;
}

Term load(Builder& b, const TensorRef& ref, std::span<const SymExpr> at) {
  return {&b.pool(), b.load(ref, at)};
}

Term where_inside(Builder& b, const Walk& w, const Term& value, const Term& outside) {
  const Term inside = all_hold(b, w.visits);
  return inside ? select(inside, value, outside) : value;
}

// What a window's sum is divided by, in ATen's order of divisions.
Term divided(Builder& b, const Pooling& p, std::span<const SymExpr> at, const Term& sum) {
  const auto by = [&](const SymExpr& n) {
    return cast(sum.dtype(), Term{&b.pool(), b.pool().index(n)});
  };
  if (p.divisor) return sum / by(*p.divisor);
  SymExpr count = 1;
  const size_t first = at.size() - p.windows.size();
  for (size_t d = 0; d < p.windows.size(); ++d)
    count = count * p.windows[d].count(at[first + d], p.with_padding);
  return sum / by(count);
}

Verdict finish(Builder& b, const Node& node, int output, const TensorRef& result) {
  if (b.dtype(result) == node.outputs[output]->dtype) {
    b.define(node.output(output), result);
  } else {
    const Nest nest = b.nest(result.sizes);
    b.store(node.output(output), nest, b.load(result, nest.vars));
  }
  return Verdict::yes();
}

template <size_t rank>
Verdict average(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const TensorType& type = *node.outputs[0];
  Pooling p;
  if (Verdict v = read_pooling(node, self.sizes, type.sizes, rank, &p); !v) return v;
  if (!is_floating(type.dtype)) return Verdict::no("means of integers");
  const Walk w = walk(b, type.sizes, p, &Windows::element, &Windows::most);
  const Term x = cast(compute_dtype(type.dtype), load(b, self, w.place));
  const TensorRef sum = reduce(b, w, type, ReduceOp::kSum, where_inside(b, w, x, number(x, 0)));
  const Nest nest = b.nest(type.sizes);
  b.store(node.output(0), nest, divided(b, p, nest.vars, load(b, sum, nest.vars)).expr);
  return Verdict::yes();
}

template <size_t rank>
Verdict average_backward(Builder& b, const Node& node) {
  const TensorRef grad = b.ref(node, "grad_output");
  const TensorType& type = *node.outputs[0];
  Pooling p;
  if (Verdict v = read_pooling(node, type.sizes, grad.sizes, rank, &p); !v) return v;
  if (!is_floating(type.dtype)) return Verdict::no("means of integers");
  const Walk w = walk(b, type.sizes, p, &Windows::covering, &Windows::most_covering);
  const Term g = cast(compute_dtype(type.dtype), load(b, grad, w.place));
  const Term share = divided(b, p, w.place, g);
  return finish(b, node, 0,
                reduce(b, w, type, ReduceOp::kSum, where_inside(b, w, share, number(g, 0))));
}

// Where the element visited lies in its plane: what the indices of a maximum count.
Term plane_index(Builder& b, const TensorRef& self, std::span<const SymExpr> at, size_t rank) {
  SymExpr index = 0;
  for (size_t d = self.sizes.size() - rank; d < self.sizes.size(); ++d)
    index = index * self.sizes[d] + at[d];
  return {&b.pool(), b.pool().index(index)};
}

Term lowest(const Term& like) {
  if (is_floating(like.dtype())) return number(like, -std::numeric_limits<double>::infinity());
  const int bits = 8 * static_cast<int>(aten_bridge::size_in_bytes(like.dtype()));
  const bool is_signed = like.dtype() != DType::kUInt8;
  return {like.pool, like.pool->integer(like.dtype(), is_signed ? -1LL << (bits - 1) : 0)};
}

// ATen takes the last NaN of a window; without one, the first of its largest elements. So each
// element says its index if it is NaN, -1 - index if it equals the maximum, and the largest answer
// wins.
Verdict maximum_and_index(Builder& b, const Node& node, size_t rank) {
  const TensorRef self = b.ref(node, "self");
  const TensorType& type = *node.outputs[0];
  Pooling p;
  if (Verdict v = read_pooling(node, self.sizes, type.sizes, rank, &p); !v) return v;
  if (type.dtype == DType::kBool) return Verdict::no("maxima of bools");
  if (type.device.kind == Device::Kind::kCuda && !is_floating(type.dtype))
    return Verdict::no("maxima of integers, for which ATen raises on a GPU");
  const auto element = [&](const Walk& w) {
    return cast(compute_dtype(type.dtype), load(b, self, w.place));
  };
  const Walk values = walk(b, type.sizes, p, &Windows::element, &Windows::most);
  const Term x = element(values);
  const TensorRef max =
      reduce(b, values, type, ReduceOp::kMax, where_inside(b, values, x, lowest(x)));

  const Walk w = walk(b, type.sizes, p, &Windows::element, &Windows::most);
  const Term y = element(w), m = load(b, max, w.outer), index = plane_index(b, self, w.place, rank);
  const Term none{&b.pool(), b.pool().integer(DType::kInt64, std::numeric_limits<int64_t>::min())};
  Term answer = select(y == m, -1.0 - index, none);
  if (is_floating(y.dtype())) answer = select(y != y, index, answer);
  const TensorRef answers =
      reduce(b, w, *node.outputs[1], ReduceOp::kMax, where_inside(b, w, answer, none));
  const Nest nest = b.nest(type.sizes);
  const Term best = load(b, answers, nest.vars);
  b.store(node.output(1), nest, select(best < 0.0, -1.0 - best, best).expr);
  return finish(b, node, 0, max);
}

template <size_t rank>
Verdict maximum(Builder& b, const Node& node) {
  return maximum_and_index(b, node, rank);
}

template <size_t rank>
Verdict maximum_backward(Builder& b, const Node& node) {
  const TensorRef grad = b.ref(node, "grad_output"), indices = b.ref(node, "indices");
  const TensorType& type = *node.outputs[0];
  Pooling p;
  if (Verdict v = read_pooling(node, type.sizes, grad.sizes, rank, &p); !v) return v;
  if (!is_floating(type.dtype)) return Verdict::no("gradients of integers");
  const Walk w = walk(b, type.sizes, p, &Windows::covering, &Windows::most_covering);
  const Term g = cast(compute_dtype(type.dtype), load(b, grad, w.place));
  const TensorRef self = b.ref(node, "self");
  const Term here = plane_index(b, self, w.outer, rank), chosen = load(b, indices, w.place);
  const Term share = select(chosen == here, g, number(g, 0));
  return finish(b, node, 0,
                reduce(b, w, type, ReduceOp::kSum, where_inside(b, w, share, number(g, 0))));
}

constexpr LoweringRow kRows[] = {
    {"aten::avg_pool2d", kReduction, average<2>},
    {"aten::avg_pool2d_backward", kReduction, average_backward<2>},
    {"aten::avg_pool3d", kReduction, average<3>},
    {"aten::avg_pool3d_backward", kReduction, average_backward<3>},
    {"aten::_adaptive_avg_pool2d", kReduction, average<2>},
    {"aten::_adaptive_avg_pool2d_backward", kReduction, average_backward<2>},
    {"aten::_adaptive_avg_pool3d", kReduction, average<3>},
    {"aten::_adaptive_avg_pool3d_backward", kReduction, average_backward<3>},
    {"aten::max_pool2d_with_indices", kReduction, maximum<2>},
    {"aten::max_pool2d_with_indices_backward", kReduction, maximum_backward<2>},
    {"aten::max_pool3d_with_indices", kReduction, maximum<3>},
    {"aten::max_pool3d_with_indices_backward", kReduction, maximum_backward<3>},
    {"aten::adaptive_max_pool2d", kReduction, maximum<2>},
    {"aten::adaptive_max_pool2d_backward", kReduction, maximum_backward<2>},
    {"aten::adaptive_max_pool3d", kReduction, maximum<3>},
    {"aten::adaptive_max_pool3d_backward", kReduction, maximum_backward<3>},
};

}  // namespace

LoweringRows pool_rows() { return kRows; }

}  // namespace inductor
