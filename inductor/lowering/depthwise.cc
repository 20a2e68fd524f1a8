// Convolutions of each channel with a filter of its own, on a GPU, over channels that lie together,
// whose threads walk along the channels. cuDNN compiles its kernels for them when they first run,
// seconds a shape.
//
// A thread makes a few neighbours of a row: what it reads for one it has for the others.
//   y[r, T*t + q] = sum over i of sum over j of x[r + i, T*t + q + j] * w[i, j]     q < T
// There is a nest for each q; the loop over i stays one, the sum over j is written out, and the
// scheduler puts the nests into one loop. The gradient of the input gathers from the windows that
// an element lies in; that of the weight has a nest for each j, over rows and groups of T.
#include <array>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/reduction.h"
#include "inductor/lowering/windows.h"

namespace inductor {
namespace {

constexpr int64_t kLargestFilter = 7;   // elements a side
constexpr int64_t kMostNeighbours = 8;  // each has an accumulator

struct Depthwise {
  std::vector<int64_t> input, output, filter;  // sizes
  std::vector<int64_t> stride, padding;
  std::vector<Windows> windows;
};

Term load(Builder& b, const TensorRef& ref, const std::array<SymExpr, 4>& at) {
  const Term value{&b.pool(), b.load(ref, at)};
  return cast(compute_dtype(value.dtype()), value);
}

// An element of an image, 0 outside of it.
Term load(Builder& b, const TensorRef& image, const SymExpr& n, const SymExpr& channel,
          const Visit& row, const Visit& column) {
  const Term x = load(b, image, {n, channel, row.at, column.at});
  const Term inside = all_hold(b, {row, column});
  return inside ? select(inside, x, number(x, 0)) : x;
}

Term plus(const Term& sum, const Term& a, const Term& b) {
  return sum ? multiply_add(a, b, sum) : a * b;
}

// Into how many neighbours a row is divided, a multiple of `step`; 1 where it cannot be.
int64_t neighbours(int64_t columns, int64_t step) {
  for (int64_t n = kMostNeighbours / step * step; n > 1; n -= step)
    if (columns % n == 0) return n;
  return 1;
}

// Every n-th element of a row, from the q-th on.
TensorRef every(TensorRef image, int64_t n, int64_t q) {
  image.offset = image.offset + q * image.strides[3];
  image.sizes[3] = floor_div(image.sizes[3], n);
  image.strides[3] = n * image.strides[3];
  return image;
}

bool is_channels_last(const TensorRef& image) {
  return image.strides[1] == SymExpr(1) && image.sizes[1] != SymExpr(1);
}

// `output`: the convolution's, or its gradient.
Verdict read_depthwise(Builder& b, const Node& node, const std::vector<SymExpr>& output,
                       Depthwise* d) {
  const TensorRef input = b.ref(node, "input"), weight = b.ref(node, "weight");
  const TensorType& type = node.inputs()[0].type();
  if (type.device.kind != Device::Kind::kCuda) return Verdict::no("a convolution on a CPU");
  if (b.dtype(input) != type.dtype || b.dtype(weight) != type.dtype || !is_floating(type.dtype) ||
      type.dtype == DType::kFloat64)
    return Verdict::no("a convolution of neither half nor single precision");
  if (input.sizes.size() != 4 || flag(node, "transposed"))
    return Verdict::no("a convolution over other than two dimensions, or transposed");
  d->input = known(input.sizes), d->output = known(output), d->filter = known(weight.sizes);
  for (size_t i = 0; i < 4; ++i)
    if (d->input[i] <= 0 || d->output[i] <= 0) return Verdict::no("sizes that are zero or unknown");
  if (integer(node, "groups") != input.sizes[1] || d->filter[0] != d->input[1] || d->filter[1] != 1)
    return Verdict::no("channels that a convolution mixes");
  if (!is_channels_last(input)) return Verdict::no("channels that do not lie together");
  d->stride = spread(node, "stride", 2, {1, 1}), d->padding = spread(node, "padding", 2, {0, 0});
  const std::vector<int64_t> dilation = spread(node, "dilation", 2, {1, 1});
  for (size_t i = 0; i < 2; ++i) {
    if (d->filter[2 + i] > kLargestFilter) return Verdict::no("a large filter");
    if (dilation[i] != 1) return Verdict::no("a dilated filter");
    d->windows.push_back(Windows::strided(d->input[2 + i], d->output[2 + i], d->filter[2 + i],
                                          d->stride[i], d->padding[i]));
  }
  return Verdict::yes();
}

// A nest over an image's elements with a loop over `extent` of its rows' visits inside.
struct RowNest {
  RowNest(Builder& b, const TensorRef& image, int64_t extent) : nest(b.nest(image.sizes)) {
    outer = nest.vars;
    if (extent > 1) step = b.add_level(nest, extent, LoopKind::kReduction);
  }
  Nest nest;
  std::vector<SymExpr> outer;
  SymExpr step = 0;
};

// Sums `value` over the nest's inner loop: an image like `part`, channels last, not rounded.
TensorRef sum_rows(Builder& b, const RowNest& rows, const Node& node, const TensorRef& part,
                   const Term& value) {
  TensorType type = retyped(node, 0, value.dtype());
  const auto& n = type.sizes = part.sizes;
  type.strides = {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]};
  const TensorRef sum = b.new_ref(type);
  const SymExpr address = b.address(sum, rows.outer);
  if (rows.nest.vars.size() > rows.outer.size())
    b.emit(rows.nest, Reduce{sum.buffer, address, ReduceOp::kSum, value.expr});
  else
    b.emit(rows.nest, Store{sum.buffer, address, value.expr});
  return sum;
}

// The parts of an image, rounded.
void store_parts(Builder& b, const TensorRef& image, const std::vector<TensorRef>& sums) {
  const int64_t count = static_cast<int64_t>(sums.size());
  for (int64_t q = 0; q < count; ++q) {
    const TensorRef part = every(image, count, q);
    const Nest nest = b.nest(part.sizes);
    b.emit_store(part, nest, b.load(sums[q], nest.vars));
  }
}

Verdict convolution(Builder& b, const Node& node) {
  if (!is_none(node, "bias")) return Verdict::no("a bias that is added inside");
  Depthwise d;
  if (Verdict v = read_depthwise(b, node, node.outputs[0]->sizes, &d); !v) return v;
  const TensorRef x = b.ref(node, "input"), w = b.ref(node, "weight");
  const TensorRef y = b.new_ref(*node.outputs[0]);
  const int64_t together = neighbours(d.output[3], 1);
  std::vector<TensorRef> sums;
  for (int64_t q = 0; q < together; ++q) {
    const TensorRef part = every(y, together, q);
    const RowNest rows(b, part, d.filter[2]);
    const auto& at = rows.outer;
    const Visit row = d.windows[0].element(at[2], rows.step);
    Term sum;
    for (int64_t j = 0; j < d.filter[3]; ++j) {
      const Visit column = d.windows[1].element(together * at[3] + q, j);
      sum = plus(sum, load(b, x, at[0], at[1], row, column), load(b, w, {at[1], 0, rows.step, j}));
    }
    sums.push_back(sum_rows(b, rows, node, part, sum));
  }
  store_parts(b, y, sums);
  b.define(node.output(0), y);
  return Verdict::yes();
}

void gradient_of_input(Builder& b, const Node& node, const Depthwise& d) {
  const TensorRef gy = b.ref(node, "grad_output"), w = b.ref(node, "weight");
  const TensorRef gx = b.new_ref(*node.outputs[0]);

  const int64_t together = neighbours(d.input[3], d.stride[1]);
  std::vector<TensorRef> sums;
  for (int64_t q = 0; q < together; ++q) {
    const TensorRef part = every(gx, together, q);
    const RowNest rows(b, part, d.windows[0].most_covering());
    const auto& at = rows.outer;
    const Visit row = d.windows[0].covering(at[2], rows.step);
    const SymExpr filter_row = d.windows[0].place_in_covering(at[2], rows.step);
    const SymExpr here = together * at[3] + q;
    Term sum;
    for (int64_t k = 0; k < d.windows[1].most_covering(); ++k) {
      const Visit column = d.windows[1].covering(here, k);
      const SymExpr j = d.windows[1].place_in_covering(here, k);
      sum =
          plus(sum, load(b, gy, at[0], at[1], row, column), load(b, w, {at[1], 0, filter_row, j}));
    }
    sums.push_back(sum_rows(b, rows, node, part, sum));
  }
  store_parts(b, gx, sums);
  b.define(node.output(0), gx);
}

void gradient_of_weight(Builder& b, const Node& node, const Depthwise& d) {
  const TensorRef x = b.ref(node, "input"), gy = b.ref(node, "grad_output");
  const TensorRef gw = b.new_ref(*node.outputs[1]);
  const int64_t together = neighbours(d.output[3], 1);
  std::vector<TensorRef> totals;
  for (int64_t j = 0; j < d.filter[3]; ++j) {
    Nest nest = b.nest({gw.sizes[2], gw.sizes[0]});
    const SymExpr i = nest.vars[0], channel = nest.vars[1];
    const SymExpr n = b.add_level(nest, gy.sizes[0], LoopKind::kReduction);
    const SymExpr r = b.add_level(nest, gy.sizes[2], LoopKind::kReduction);
    const SymExpr t = b.add_level(nest, d.output[3] / together, LoopKind::kReduction);
    const Visit row = d.windows[0].element(r, i);
    Term sum;
    for (int64_t q = 0; q < together; ++q) {
      const SymExpr column = together * t + q;
      sum = plus(sum, load(b, x, n, channel, row, d.windows[1].element(column, j)),
                 load(b, gy, {n, channel, r, column}));
    }
    TensorType type = retyped(node, 1, sum.dtype());
    type.sizes = {gw.sizes[2], gw.sizes[0]};
    type.strides = {gw.sizes[0], 1};
    totals.push_back(b.new_ref(type));
    const std::array<SymExpr, 2> at = {i, channel};
    b.emit(nest, Reduce{totals[j].buffer, b.address(totals[j], at), ReduceOp::kSum, sum.expr});
  }
  for (int64_t j = 0; j < d.filter[3]; ++j) {
    const TensorRef part{
        gw.buffer, totals[j].sizes, {gw.strides[2], gw.strides[0]}, j * gw.strides[3]};
    const Nest nest = b.nest(part.sizes);
    b.emit_store(part, nest, b.load(totals[j], nest.vars));
  }
  b.define(node.output(1), gw);
}

Verdict convolution_backward(Builder& b, const Node& node) {
  const TensorRef grad = b.ref(node, "grad_output");
  if (node.outputs[2]) return Verdict::no("a bias whose gradient is summed inside");
  Depthwise d;
  if (Verdict v = read_depthwise(b, node, grad.sizes, &d); !v) return v;
  if (!is_channels_last(grad)) return Verdict::no("channels that do not lie together");
  if (node.outputs[0]) gradient_of_input(b, node, d);
  if (node.outputs[1]) gradient_of_weight(b, node, d);
  return Verdict::yes();
}

// Others are extern calls, and so are all in the eyes of who asks for the kind.
constexpr RoundsOtherwise kAnywhere{.cpu = "bhfd", .cuda = "bhfd"};
constexpr LoweringRow kRows[] = {
    {"aten::convolution", OpKind::kExtern, convolution, kAnywhere},
    {"aten::convolution_backward", OpKind::kExtern, convolution_backward, kAnywhere},
};

}  // namespace

LoweringRows depthwise_rows() { return kRows; }

}  // namespace inductor
