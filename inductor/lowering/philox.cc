// A GPU's random numbers, as functions of where the generator stood (aten_bridge/graph/draws.h):
// ATen's very numbers, since each element asks for the one that ATen's kernel gives it.
//
// Those kernels run on blocks of 256 threads, as many as the elements or the device can use. Each
// thread is a sequence of Philox and calls it for four numbers at a time. Unless its memory is read
// in vectors, its n-th number (of four, or two doubles) goes to the element that is n grids on:
//
//   2 threads, 11 elements     element   0   1   2   3   4   5   6   7   8   9  10
//   vectors of 1               thread    0   1   0   1   0   1   0   1   0   1   0
//                              number    0   0   1   1   2   2   3   3   0   0   1   of the next
//                              call
//   vectors of 4               thread    0   0   0   0   1   1   1   1   0   0   0   (12 elements)
//                              number    0   1   2   3   0   1   2   3   0   1   2   of the next
//                              call
#include <cmath>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/row.h"
#include "inductor/lowering/term.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;
constexpr int64_t kBlock = 256;

// Where an element's number comes from: the thread's calls before, and 4 * thread + number.
struct Place {
  SymExpr calls, place;
};

struct Grid {
  int64_t elements, threads;
  Grid(int64_t elements, int64_t most_threads)
      : elements(elements),
        threads(kBlock * std::min((elements + kBlock - 1) / kBlock, most_threads / kBlock)) {}

  // An element within what all threads take at once, of `round` elements, and how often they did.
  SymExpr within(const SymExpr& e, int64_t round) const {
    return elements <= round ? e : mod(e, round);
  }
  SymExpr rounds(const SymExpr& e, int64_t round) const {
    return elements <= round ? SymExpr(0) : floor_div(e, round);
  }

  // `many` numbers a call, each a grid apart; a number is of `words` of Philox's four.
  Place strided(const SymExpr& e, int64_t many, int64_t words = 1) const {
    const SymExpr at = within(e, threads * many);
    return {rounds(e, threads * many), 4 * within(at, threads) + words * rounds(at, threads)};
  }
  // Memory in vectors, of which each thread takes one at a time, and for it as many calls as it has
  // fours.
  Place in_vectors(const SymExpr& e, int64_t vector) const {
    const SymExpr at = within(e, threads * vector);
    if (vector == 4) return {rounds(e, threads * vector), at};
    const SymExpr fours = vector > 4 ? floor_div(mod(at, vector), 4) : 0;
    return {rounds(e, threads * vector) * std::max<int64_t>(1, vector / 4) + fours,
            4 * floor_div(at, vector) + mod(at, std::min<int64_t>(vector, 4))};
  }
};

// One result being lowered.
class Drawing {
 public:
  Drawing(Builder& b, const Node& node)
      : b_(b),
        node_(node),
        nest_(b.nest(type().sizes)),
        grid_(element_count(type()).as_constant(), integer(node, "threads").as_constant()) {
    const std::vector<SymExpr> strides = contiguous_strides(type().sizes);
    for (size_t d = 0; d < strides.size(); ++d) element_ += nest_.vars[d] * strides[d];
  }

  const TensorType& type() const { return *node_.outputs[0]; }
  double real(std::string_view arg) const {
    const auto& value = node_.arg(arg);
    if (const auto* whole = std::get_if<SymExpr>(&value))
      return static_cast<double>(whole->as_constant());
    return std::get<double>(value);
  }
  Place strided(int64_t many, int64_t words = 1) const {
    return grid_.strided(element_, many, words);
  }
  Place in_vectors(int64_t vector) const { return grid_.in_vectors(element_, vector); }

  // 32 random bits, as int64.
  Term bits(const Place& place) {
    const TensorRef& state = b_.ref(node_, "state");
    const SymExpr seed = 0, calls = 1;
    const auto word = [&](const SymExpr& at) { return Term{&pool(), b_.load(state, {&at, 1})}; };
    return philox(word(seed), word(calls) + index(place.calls), index(place.place));
  }
  Term index(const SymExpr& value) { return {&pool(), pool().index(value)}; }
  Term number(DType dtype, double value) { return {&pool(), pool().constant(dtype, value)}; }

  Verdict store(const Term& value) {
    b_.store(node_.output(0), nest_, value.expr);
    return Verdict::yes();
  }

 private:
  ExprPool& pool() { return b_.pool(); }

  Builder& b_;
  const Node& node_;
  const Nest nest_;
  const Grid grid_;
  SymExpr element_;
};

// In (0, 1], as curand has it.
Term unit(const Term& bits) {
  const Term x = cast(DType::kFloat32, bits);
  return fma(x, number(x, 0x1p-32), number(x, 0x1p-33));
}
// In (0, 1], of 53 bits.
Term unit(const Term& bits, const Term& more_bits) {
  const Term shifted = shift_left(more_bits, number(more_bits, 21));
  const Term x = cast(DType::kFloat64, bit_xor(bits, shifted));
  return fma(x, number(x, 0x1p-53), number(x, 0x1p-54));
}
Term unit_double(Drawing& draw) {
  Place place = draw.strided(2, 2);
  const Term bits = draw.bits(place);
  place.place += 1;
  return unit(bits, draw.bits(place));
}

// Of the random bits those whose unit is less than p: they are the least ones.
int64_t bits_below(double p) {
  const auto is_below = [&](int64_t bits) {
    return std::fma(static_cast<float>(bits), 0x1p-32f, 0x1p-33f) < p;
  };
  int64_t low = 0, high = int64_t{1} << 32;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (is_below(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Verdict dropout(Builder& b, const Node& node) {
  Drawing draw(b, node);
  const int64_t vector = integer(node, "vector").as_constant();
  const Place place = vector == 1 ? draw.strided(4) : draw.in_vectors(vector);
  return draw.store(draw.bits(place) < draw.index(bits_below(draw.real("keep"))));
}

Verdict bernoulli(Builder& b, const Node& node) {
  Drawing draw(b, node);
  const double p = draw.real("p");
  if (draw.type().dtype == DType::kFloat64)
    return draw.store(unit_double(draw) < draw.number(DType::kFloat64, p));
  const double compared = static_cast<float>(p);
  return draw.store(draw.bits(draw.strided(4)) < draw.index(bits_below(compared)));
}

// A value of a dtype, as ATen's kernels hold it: rounded once.
Term rounded(const Term& value, DType dtype) {
  return cast(compute_dtype(dtype), cast(dtype, value));
}

Verdict uniform(Builder& b, const Node& node) {
  Drawing draw(b, node);
  const DType dtype = draw.type().dtype, computed = compute_dtype(dtype);
  const Term u = computed == DType::kFloat64 ? unit_double(draw) : unit(draw.bits(draw.strided(4)));
  const auto bound = [&](std::string_view arg) {
    return rounded(draw.number(computed, ScalarValue::of(dtype, draw.real(arg)).floating), dtype);
  };
  const Term low = bound("low"), high = bound("high");
  const Term value = rounded(fma(u, rounded(high - low, dtype), low), dtype);
  return draw.store(select(value == high, low, value));
}

// By Box and Muller, two of two: the call's first and last two numbers.
Verdict normal(Builder& b, const Node& node) {
  Drawing draw(b, node);
  if (draw.type().dtype == DType::kFloat64) return Verdict::no("pairs of doubles are ATen's");
  Place place = draw.strided(4);
  const SymExpr which = mod(place.place, 4), first = mod(which, 2);
  place.place += 0 - first;
  const Term u = unit(draw.bits(place));
  place.place += 1;
  const Term y = cast(DType::kFloat32, draw.bits(place));
  constexpr float kTurn = 2.3283064e-10f * 6.2831855f;
  const Term angle = fma(y, number(y, kTurn), number(y, kTurn / 2));
  const Term side = draw.index(first) == 0.0;
  const Term one = select(side, sin_near(angle), cos_near(angle)) * sqrt(-2.0 * log(u));
  return draw.store(fma(one, number(one, draw.real("std")), number(one, draw.real("mean"))));
}

constexpr LoweringRow kRows[] = {
    {"torchdyn::philox_dropout", kPointwise, dropout, {}, nullptr, true},
    {"torchdyn::philox_bernoulli", kPointwise, bernoulli, {}, nullptr, true},
    {"torchdyn::philox_uniform", kPointwise, uniform, {}, nullptr, true},
    {"torchdyn::philox_normal", kPointwise, normal, {}, nullptr, true},
};

}  // namespace

LoweringRows philox_rows() { return kRows; }

}  // namespace inductor
