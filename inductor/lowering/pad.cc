// Padding: elements outside of self are a number, or self's own, mirrored or repeated. And windows
// that slide over a padded tensor.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/place.h"
#include "inductor/lowering/reduction.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;
constexpr auto kReduction = OpKind::kReduction;

// pad = [before, after] of the last dimension, then of the one before it, ...; negative ones crop.
Verdict constant_pad(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term padding = e["value"];
  if (!padding) return Verdict::no("not padded with a real number");
  const std::vector<SymExpr> pad = integers(node, "pad");
  std::vector<SymExpr> at = nest.vars;
  Term inside{&b.pool(), b.pool().integer(DType::kBool, true)};
  for (size_t n = 0; n < pad.size() / 2; ++n) {
    const size_t dim = at.size() - 1 - n;
    const SymExpr from = at[dim] - pad[2 * n];
    inside = bit_and(inside, is_inside(b, from, self.sizes[dim]));
    at[dim] = nearest(from, self.sizes[dim]);
  }
  const Term value = is_empty(self.sizes) ? padding : Term{&b.pool(), b.load(self, at)};
  b.store(node.output(0), nest, either(inside, cast(padding.dtype(), value), padding).expr);
  return Verdict::yes();
}

// Around the first and the last element, which are not repeated. That this is inside follows from
// the paddings' being smaller than the size; `nearest` says so to who checks indices.
SymExpr mirrored(const SymExpr& index, const SymExpr& size) {
  const SymExpr from_first = max(index, SymExpr(0) - index);
  return nearest(min(from_first, 2 * (size - 1) - from_first), size);
}

using Outside = SymExpr (*)(const SymExpr& index, const SymExpr& size);

template <Outside outside>
Verdict pad(Builder& b, const Node& node) {
  const std::vector<SymExpr>& sizes = b.ref(node, "self").sizes;
  return reorder(b, node, [&](Places at) {
    const std::vector<SymExpr> padding = integers(node, "padding");
    for (size_t n = 0; n < padding.size() / 2; ++n) {
      const size_t dim = at.size() - 1 - n;
      at[dim] = outside(at[dim] - padding[2 * n], sizes[dim]);
    }
    return at;
  });
}

// What backward adds to an element: the gradients of itself and of its mirror images.
Verdict reflection_pad_backward(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef grad = b.ref(node, "grad_output");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const std::vector<SymExpr> padding = integers(node, "padding");
  const DType dtype = compute_dtype(node.outputs[0]->dtype);
  Term sum;
  // Each of the padded dimensions is read at one of three images.
  const auto add = [&](const auto& self, size_t n, std::vector<SymExpr> at, Term inside) -> void {
    if (n == padding.size() / 2) {
      const Term value = cast(dtype, {&b.pool(), b.load(grad, at)});
      const Term part = either(inside, value, number(value, 0));
      sum = sum ? sum + part : part;
      return;
    }
    const size_t dim = at.size() - 1 - n;
    const SymExpr i = at[dim], last = node.outputs[0]->sizes[dim] - 1, before = padding[2 * n];
    const SymExpr& size = grad.sizes[dim];
    const auto image = [&](const SymExpr& place, const Term& exists) {
      at[dim] = nearest(place, size);
      self(self, n + 1, at, bit_and(inside, bit_and(exists, is_inside(b, place, size))));
    };
    const Term yes{&b.pool(), b.pool().integer(DType::kBool, true)};
    image(i + before, yes);
    image(before - i, index_term(b, i) != 0.0);
    image(2 * last - i + before, index_term(b, i) != index_term(b, last));
  };
  add(add, 0, nest.vars, {&b.pool(), b.pool().integer(DType::kBool, true)});
  b.store(node.output(0), nest, sum.expr);
  return Verdict::yes();
}

Verdict sum_over(Builder& b, const Node& node, const Nest& nest, const Term& value) {
  Space space{nest, {}, {nest.vars.begin(), nest.vars.begin() + node.outputs[0]->sizes.size()}};
  const TensorType type = retyped(node, 0, value.dtype());
  define_rounded(b, node, 0, accumulate(b, space, type, ReduceOp::kSum, value.expr));
  return Verdict::yes();
}

// An element's own gradient, and those of its copies where it is the first or the last.
Verdict replication_pad_backward(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef grad = b.ref(node, "grad_output");
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  const std::vector<SymExpr> padding = integers(node, "padding");
  if (is_empty(grad.sizes)) return Verdict::no("no gradient");
  for (const SymExpr& amount : padding)
    if (amount.constant().value_or(-1) < 0) return Verdict::no("a cropping or symbolic padding");
  Nest nest = b.nest(sizes);
  std::vector<SymExpr> at = nest.vars;
  Term is_own{&b.pool(), b.pool().integer(DType::kBool, true)};
  for (size_t n = 0; n < padding.size() / 2; ++n) {
    const size_t dim = at.size() - 1 - n;
    const SymExpr i = at[dim], &before = padding[2 * n], &after = padding[2 * n + 1];
    const SymExpr copy = b.add_level(nest, before + after + 1, LoopKind::kReduction);
    const Term from_own = index_term(b, copy - before);
    const Term is_first = index_term(b, i) == 0.0;
    const Term is_last = index_term(b, sizes[dim] - 1 - i) == 0.0;
    const Term is_copied = select(from_own < 0.0, is_first, is_last);
    is_own = bit_and(is_own, bit_or(from_own == 0.0, is_copied));
    at[dim] = nearest(i + copy, grad.sizes[dim]);
  }
  const Term value = cast(compute_dtype(node.outputs[0]->dtype), {&b.pool(), b.load(grad, at)});
  return sum_over(b, node, nest, either(is_own, value, number(value, 0)));
}

// The gradients of all windows that an element is in: at most one for each place in a window.
Verdict unfold_backward(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef grad = b.ref(node, "grad_in");
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  if (is_empty(grad.sizes) || sizes.empty()) return Verdict::no("no gradient");
  const int dim = dimension(node, "dim", static_cast<int>(sizes.size()));
  const SymExpr step = integer(node, "step");
  Nest nest = b.nest(sizes);
  const SymExpr in_window = b.add_level(nest, integer(node, "size"), LoopKind::kReduction);
  std::vector<SymExpr> at = nest.vars;
  const SymExpr start = at[dim] - in_window, window = floor_div(start, step);
  const Term is_start = index_term(b, mod(start, step)) == 0.0;
  const Term inside = bit_and(is_start, is_inside(b, window, grad.sizes[dim]));
  at[dim] = nearest(window, grad.sizes[dim]);
  const Term value = cast(compute_dtype(node.outputs[0]->dtype), {&b.pool(), b.load(grad, at)});
  return sum_over(b, node, nest, either(inside, value, number(value, 0)));
}

// Every window of an image as a column.
Verdict im2col(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const auto of = [&](std::string_view arg, int d) {
    const std::vector<SymExpr> both = integers(node, arg);
    return both.size() == 1 ? both[0] : both[d];
  };
  const size_t rank = self.sizes.size();
  const auto window_count = [&](int d) {
    const SymExpr covered = of("dilation", d) * (of("kernel_size", d) - 1) + 1;
    return floor_div(self.sizes[rank - 2 + d] + 2 * of("padding", d) - covered, of("stride", d)) +
           1;
  };
  const SymExpr channel = nest.vars[rank - 3], column = nest.vars[rank - 2];
  const SymExpr height = of("kernel_size", 0), width = of("kernel_size", 1);
  const SymExpr in_window[] = {mod(floor_div(channel, width), height), mod(channel, width)};
  const SymExpr window[] = {floor_div(column, window_count(1)), mod(column, window_count(1))};
  std::vector<SymExpr> at(nest.vars.begin(), nest.vars.end() - 2);
  at.push_back(floor_div(channel, height * width));
  Term inside{&b.pool(), b.pool().integer(DType::kBool, true)};
  for (int d = 0; d < 2; ++d) {
    const SymExpr place =
        window[d] * of("stride", d) + in_window[d] * of("dilation", d) - of("padding", d);
    const SymExpr& size = self.sizes[rank - 2 + d];
    inside = bit_and(inside, is_inside(b, place, size));
    at.push_back(nearest(place, size));
  }
  if (is_empty(self.sizes)) return Verdict::no("an empty image");
  b.store(
      node.output(0), nest,
      either(inside, cast(compute_dtype(e.common()), {&b.pool(), b.load(self, at)}), e.number(0))
          .expr);
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::constant_pad_nd", kPointwise, constant_pad},
    {"aten::reflection_pad1d", kPointwise, pad<mirrored>},
    {"aten::reflection_pad2d", kPointwise, pad<mirrored>},
    {"aten::reflection_pad3d", kPointwise, pad<mirrored>},
    {"aten::replication_pad1d", kPointwise, pad<nearest>},
    {"aten::replication_pad2d", kPointwise, pad<nearest>},
    {"aten::replication_pad3d", kPointwise, pad<nearest>},
    {"aten::reflection_pad1d_backward",
     kPointwise,
     reflection_pad_backward,
     {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::reflection_pad2d_backward",
     kPointwise,
     reflection_pad_backward,
     {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::reflection_pad3d_backward",
     kPointwise,
     reflection_pad_backward,
     {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::replication_pad1d_backward", kReduction, replication_pad_backward},
    {"aten::replication_pad2d_backward", kReduction, replication_pad_backward},
    {"aten::replication_pad3d_backward", kReduction, replication_pad_backward},
    {"aten::unfold_backward", kReduction, unfold_backward},
    {"aten::im2col", kPointwise, im2col},
};

}  // namespace

LoweringRows pad_rows() { return kRows; }

}  // namespace inductor
