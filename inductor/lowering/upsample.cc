// Upsampling: each element reads a few of the input's, whose places and weights follow from its own
// place by ATen's formulas (ATen/native/UpSample.h), computed in the types that ATen computes in.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

// One dimension that is resized.
struct Axis {
  int64_t in, out;
  std::optional<double> scale;  // out / in as the user said it, where that counts
  bool on_cuda;

  double ratio() const { return scale ? 1 / *scale : static_cast<double>(in) / out; }
  float ratio_in_float() const {
    return scale ? static_cast<float>(1 / *scale) : static_cast<float>(in) / out;
  }
};

std::optional<double> scale_of(const Node& node, std::string_view arg) {
  const auto* scale = std::get_if<double>(&node.arg(arg));
  return scale && *scale > 0 ? std::optional(*scale) : std::nullopt;
}

constexpr std::string_view kScales[3][3] = {
    {"scales"}, {"scales_h", "scales_w"}, {"scales_d", "scales_h", "scales_w"}};

Verdict read_axes(const Node& node, const std::vector<SymExpr>& in, const std::vector<SymExpr>& out,
                  size_t rank, std::vector<Axis>* axes) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const bool on_cuda = node.outputs[0]->device.kind == aten_bridge::Device::Kind::kCuda;
  for (size_t d = 0; d < rank; ++d) {
    const auto from = in[in.size() - rank + d].constant(),
               to = out[out.size() - rank + d].constant();
    if (!from || !to || *from == 0 || *to == 0)
      return Verdict::no("sizes that are zero or not known");
    axes->push_back({*from, *to, scale_of(node, kScales[rank - 1][d]), on_cuda});
  }
  return Verdict::yes();
}

// ---- Nearest ----

int64_t nearest(const Axis& a, bool exact, int64_t o) {
  const float ratio = a.ratio_in_float();
  float place;
  if (exact) {
    place = a.on_cuda ? (static_cast<float>(o) + 0.5f) * ratio
                      : static_cast<float>((static_cast<double>(o) + 0.5) * ratio);
  } else {
    place = static_cast<float>(o) * ratio;
  }
  return std::min(static_cast<int64_t>(std::floor(place)), a.in - 1);
}

// Sizes that are equal or twice as large count for more than the scale in some of ATen's kernels
// for the CPU and not in others, by layout and direction.
bool is_ambiguous(const Axis& a, bool exact) {
  if (exact || a.on_cuda || !a.scale || (a.out != a.in && a.out != 2 * a.in)) return false;
  for (int64_t o = 0; o < a.out; ++o)
    if (nearest(a, exact, o) != o * a.in / a.out) return true;
  return false;
}

Verdict read_nearest_axes(const Node& node, const std::vector<SymExpr>& in,
                          const std::vector<SymExpr>& out, size_t rank, bool exact,
                          std::vector<Axis>* axes) {
  if (Verdict v = read_axes(node, in, out, rank, axes); !v) return v;
  for (const Axis& axis : *axes)
    if (is_ambiguous(axis, exact)) return Verdict::no("a scale that contradicts the sizes");
  return Verdict::yes();
}

// floor((p o + q) / r), which loops over o can index with.
struct Line {
  int64_t p, q, r;
  SymExpr at(const SymExpr& o) const { return floor_div(o * p + q, r); }
  // The first o at or past element i.
  SymExpr first(const SymExpr& i) const { return floor_div(i * r - q + (p - 1), p); }
};

bool is_nearest(const Line& line, const Axis& a, bool exact) {
  for (int64_t o = 0; o < a.out; ++o)
    if ((line.p * o + line.q) / line.r != nearest(a, exact, o)) return false;
  return true;
}

// The line that ATen's rounded formula lies on everywhere, if there is one: a ratio of the sizes or
// of small numbers.
std::optional<Line> line_of(const Axis& a, bool exact) {
  constexpr int64_t kMostDenominators = 64;
  for (int64_t n = 0; n <= kMostDenominators; ++n) {
    int64_t p = n == 0 ? a.in : std::llround(static_cast<double>(n) * a.ratio());
    int64_t r = n == 0 ? a.out : n;
    if (p == 0) continue;
    const int64_t common = std::gcd(p, r);
    p /= common;
    r /= common;
    const Line line = exact ? Line{2 * p, p, 2 * r} : Line{p, 0, r};
    if (is_nearest(line, a, exact)) return line;
  }
  return std::nullopt;
}

Term index(Builder& b, const SymExpr& value) { return {&b.pool(), b.pool().index(value)}; }

// nearest(), computed for each element. (Only the CPU's exact formula is in float64 for a while.)
Term nearest_at(Builder& b, const Axis& a, bool exact, const SymExpr& o) {
  const DType first = exact && !a.on_cuda ? DType::kFloat64 : DType::kFloat32;
  const Term here = cast(first, index(b, o));
  const Term place = (exact ? here + 0.5 : here) * static_cast<double>(a.ratio_in_float());
  return cast(DType::kInt64, floor(cast(DType::kFloat32, place)));
}

// float types and bytes, as in ATen.
bool has_nearest(DType dtype) { return is_floating(dtype) || dtype == DType::kUInt8; }

template <size_t rank, bool exact>
Verdict upsample_nearest(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const TensorType& type = *node.outputs[0];
  std::vector<Axis> axes;
  if (Verdict v = read_nearest_axes(node, self.sizes, type.sizes, rank, exact, &axes); !v) return v;
  if (!has_nearest(type.dtype)) return Verdict::no("a dtype that ATen has no kernel for");
  const Nest nest = b.nest(type.sizes);
  std::vector<SymExpr> at = nest.vars;
  std::vector<int> dims;
  std::vector<Expr> places;
  for (size_t d = 0; d < rank; ++d) {
    const size_t dim = type.sizes.size() - rank + d;
    if (const auto line = line_of(axes[d], exact)) {
      at[dim] = line->at(nest.vars[dim]);
    } else {
      dims.push_back(static_cast<int>(dim));
      places.push_back(nearest_at(b, axes[d], exact, nest.vars[dim]).expr);
    }
  }
  const Expr value = dims.empty() ? b.load(self, at) : b.load_at(self, at, dims, places);
  b.store(node.output(0), nest, value);
  return Verdict::yes();
}

// Element i gets the gradients of the window [first(i), first(i + 1)).
template <size_t rank, bool exact>
Verdict upsample_nearest_backward(Builder& b, const Node& node) {
  const TensorRef grad = b.ref(node, "grad_output");
  const TensorType& type = *node.outputs[0];
  std::vector<Axis> axes;
  if (Verdict v = read_nearest_axes(node, type.sizes, grad.sizes, rank, exact, &axes); !v) return v;
  if (!is_floating(type.dtype)) return Verdict::no("gradients of integers");
  Nest nest = b.nest(type.sizes);
  const std::vector<SymExpr> outer = nest.vars;
  std::vector<SymExpr> at = outer;
  Term inside;
  bool reduces = false;
  for (size_t d = 0; d < rank; ++d) {
    const size_t dim = type.sizes.size() - rank + d;
    const Axis& a = axes[d];
    const auto line = line_of(a, exact);
    if (!line) return Verdict::no("places that only ATen's rounding explains");
    std::vector<int64_t> counts(a.in, 0);
    for (int64_t o = 0; o < a.out; ++o) ++counts[nearest(a, exact, o)];
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    SymExpr j = 0;
    if (*most > 1) {
      j = b.add_level(nest, *most, LoopKind::kReduction);
      reduces = true;
    }
    at[dim] = line->first(outer[dim]) + j;
    if (*least == *most) continue;
    const Term holds = index(b, min(line->first(outer[dim] + 1), a.out) - 1 - at[dim]) >= 0.0;
    inside = inside ? bit_and(inside, holds) : holds;
    at[dim] = min(at[dim], a.out - 1);
  }
  TensorType sum_type = type;
  sum_type.dtype = compute_dtype(type.dtype);
  const Term g = cast(sum_type.dtype, {&b.pool(), b.load(grad, at)});
  const Expr value = (inside ? select(inside, g, number(g, 0)) : g).expr;
  const TensorRef to = b.new_ref(sum_type);
  if (reduces) {
    b.emit(nest, Reduce{to.buffer, b.address(to, outer), ReduceOp::kSum, value});
  } else {
    b.emit(nest, Store{to.buffer, b.address(to, outer), value});
  }
  if (sum_type.dtype == type.dtype) {
    b.define(node.output(0), to);
  } else {
    const Nest last = b.nest(type.sizes);
    b.store(node.output(0), last, b.load(to, last.vars));
  }
  return Verdict::yes();
}

// ---- Linear and cubic ----

// What one dimension contributes: places and their weights.
struct Taps {
  std::vector<Term> places, weights;
};

// ATen's place of an element in the input, a real number.
Term source(Builder& b, const Axis& a, DType dtype, bool align_corners, bool cubic,
            const SymExpr& o) {
  const Term here = cast(dtype, index(b, o));
  if (align_corners) {
    const double in = static_cast<double>(a.in - 1), out = static_cast<double>(a.out - 1);
    const double ratio = a.out <= 1 ? 0
                         : dtype == DType::kFloat64
                             ? in / out
                             : static_cast<float>(in) / static_cast<float>(out);
    return here * ratio;
  }
  const Term place =
      (here + 0.5) * (dtype == DType::kFloat64 ? a.ratio() : a.ratio_in_float()) - 0.5;
  return cubic ? place : select(place < 0.0, number(place, 0), place);
}

// The element at or before a place, and how far past it the place is.
struct Split {
  Term element, past;
};

Split split(Builder& b, const Axis& a, const Term& place) {
  const Term element = minimum(cast(DType::kInt64, floor(place)), index(b, a.in - 1));
  const Term past = place - cast(place.dtype(), element);
  return {element, minimum(maximum(past, number(past, 0)), number(past, 1))};
}

Taps linear(Builder& b, const Axis& a, DType dtype, bool align_corners, const SymExpr& o) {
  if (a.in == a.out) {  // infinity times the second weight is NaN, here as there
    const Term one{&b.pool(), b.pool().constant(dtype, 1)};
    return {{index(b, o), index(b, o)}, {one, number(one, 0)}};
  }
  const Split s = split(b, a, source(b, a, dtype, align_corners, /*cubic=*/false, o));
  return {{s.element, s.element + 1.0}, {1.0 - s.past, s.past}};
}

constexpr double kA = -0.75;

// The kernel of cubic convolution at distances up to 1 and from 1 to 2.
Term near(const Term& x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1.0; }
Term far(const Term& x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; }

Taps cubic(Builder& b, const Axis& a, DType dtype, bool align_corners, const SymExpr& o) {
  const Split s = split(b, a, source(b, a, dtype, align_corners, /*cubic=*/true, o));
  const Term rest = 1.0 - s.past;
  return {{s.element - 1.0, s.element, s.element + 1.0, s.element + 2.0},
          {far(s.past + 1.0), near(s.past), near(rest), far(rest + 1.0)}};
}

using TapsOf = Taps (*)(Builder&, const Axis&, DType, bool, const SymExpr&);

// Sums over the taps of dimension d and those after it; load_at keeps places inside.
Term interpolate(Builder& b, const TensorRef& self, const std::vector<SymExpr>& at,
                 const std::vector<Taps>& taps, std::vector<Expr> places) {
  const size_t d = places.size(), rank = taps.size();
  if (d == rank) {
    std::vector<int> dims(rank);
    std::iota(dims.begin(), dims.end(), static_cast<int>(at.size() - rank));
    return cast(compute_dtype(b.dtype(self)), {&b.pool(), b.load_at(self, at, dims, places)});
  }
  Term sum;
  for (size_t n = 0; n < taps[d].places.size(); ++n) {
    places.push_back(taps[d].places[n].expr);
    const Term term = interpolate(b, self, at, taps, places) * taps[d].weights[n];
    sum = sum ? sum + term : term;
    places.pop_back();
  }
  return sum;
}

template <size_t rank, TapsOf taps_of>
Verdict upsample(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const TensorType& type = *node.outputs[0];
  std::vector<Axis> axes;
  if (Verdict v = read_axes(node, self.sizes, type.sizes, rank, &axes); !v) return v;
  if (!is_floating(type.dtype)) return Verdict::no("bytes, which ATen interpolates in fixed point");
  const Nest nest = b.nest(type.sizes);
  std::vector<Taps> taps;
  for (size_t d = 0; d < rank; ++d)
    taps.push_back(taps_of(b, axes[d], compute_dtype(type.dtype), flag(node, "align_corners"),
                           nest.vars[type.sizes.size() - rank + d]));
  b.store(node.output(0), nest, interpolate(b, self, nest.vars, taps, {}).expr);
  return Verdict::yes();
}

constexpr auto kPointwise = OpKind::kPointwise;
constexpr auto kReduction = OpKind::kReduction;

constexpr LoweringRow kRows[] = {
    {"aten::upsample_nearest1d", kPointwise, upsample_nearest<1, false>},
    {"aten::upsample_nearest2d", kPointwise, upsample_nearest<2, false>},
    {"aten::upsample_nearest3d", kPointwise, upsample_nearest<3, false>},
    {"aten::_upsample_nearest_exact1d", kPointwise, upsample_nearest<1, true>},
    {"aten::_upsample_nearest_exact2d", kPointwise, upsample_nearest<2, true>},
    {"aten::_upsample_nearest_exact3d", kPointwise, upsample_nearest<3, true>},
    {"aten::upsample_nearest1d_backward", kReduction, upsample_nearest_backward<1, false>},
    {"aten::upsample_nearest2d_backward", kReduction, upsample_nearest_backward<2, false>},
    {"aten::upsample_nearest3d_backward", kReduction, upsample_nearest_backward<3, false>},
    {"aten::_upsample_nearest_exact1d_backward", kReduction, upsample_nearest_backward<1, true>},
    {"aten::_upsample_nearest_exact2d_backward", kReduction, upsample_nearest_backward<2, true>},
    {"aten::_upsample_nearest_exact3d_backward", kReduction, upsample_nearest_backward<3, true>},
    {"aten::upsample_linear1d", kPointwise, upsample<1, linear>, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::upsample_bilinear2d", kPointwise, upsample<2, linear>, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::upsample_trilinear3d",
     kPointwise,
     upsample<3, linear>,
     {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::upsample_bicubic2d", kPointwise, upsample<2, cubic>, {.cpu = "bhfd", .cuda = "bhfd"}},
};

}  // namespace

LoweringRows upsample_rows() { return kRows; }

}  // namespace inductor
