#include "aten_bridge/symbolic/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aten_bridge/base/check.h"

namespace aten_bridge {
namespace {

constexpr int64_t kLargestDivisor = 64;
// Numbers drawn at random are all multiples of d with chance d^-points; taken for a law from 2^-18
// on.
constexpr double kBitsOfChance = 18;

bool is_one_value(const Samples& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
}

// a and b of value == a * of + b at all points.
std::optional<std::pair<int64_t, int64_t>> line(const Samples& values, const Samples& of) {
  size_t other = 1;
  while (other < of.size() && of[other] == of[0]) ++other;
  if (other == of.size()) return std::nullopt;
  const int64_t rise = values[other] - values[0], run = of[other] - of[0];
  if (rise % run != 0) return std::nullopt;
  const int64_t a = rise / run, b = values[0] - a * of[0];
  for (size_t p = 0; p < values.size(); ++p)
    if (values[p] != a * of[p] + b) return std::nullopt;
  return std::pair(a, b);
}

}  // namespace

SizeFit::SizeFit(const std::vector<Samples>& points) : points_(points.size()) {
  TD_CHECK(points_ >= 2, "a fit to one point");
  symbols_ = points[0].size();
  for (size_t s = 0; s < symbols_; ++s) {
    Samples values;
    for (const Samples& point : points) values.push_back(point.at(s));
    TD_CHECK(!is_one_value(values), "s", s, " has one value at all points");
    remember({std::move(values), SymExpr::symbol({'s', static_cast<int32_t>(s)})});
  }
  for (size_t before = 0, factors = 2; factors <= 3; ++factors) {  // products of two and of three
    const size_t end = known_.size();
    for (size_t a = 0; a < symbols_; ++a)
      for (size_t b = before; b < end; ++b) remember(product(known_[a], known_[b]));
    before = end;
  }
}

SizeFit::Known SizeFit::product(const Known& a, const Known& b) {
  Known both{a.values, a.expr * b.expr};
  for (size_t p = 0; p < both.values.size(); ++p) both.values[p] *= b.values[p];
  return both;
}

void SizeFit::remember(Known known) {
  if (index_.emplace(known.values, known_.size()).second) known_.push_back(std::move(known));
}

std::optional<SymExpr> SizeFit::known(const Samples& values) const {
  const auto found = index_.find(values);
  return found == index_.end() ? std::nullopt : std::optional(known_[found->second].expr);
}

std::optional<SymExpr> SizeFit::affine(const Samples& values) const {
  for (const Known& k : known_)
    if (const auto ab = line(values, k.values)) return k.expr * ab->first + ab->second;
  return std::nullopt;
}

std::optional<SymExpr> SizeFit::simple(const Samples& values) const {
  if (is_one_value(values)) return values[0];
  if (auto expr = known(values)) return expr;
  return affine(values);
}

std::optional<SymExpr> SizeFit::composed(const Samples& values) const {
  Samples rest(points_);
  for (const Known& k : known_) {
    const auto divides = [&](size_t p) { return k.values[p] != 0 && values[p] % k.values[p] == 0; };
    bool all = true;
    for (size_t p = 0; p < points_ && all; ++p) {
      all = divides(p);
      if (all) rest[p] = values[p] / k.values[p];
    }
    if (!all) continue;
    if (auto factor = simple(rest)) return k.expr * *factor;
  }
  for (size_t s = 0; s < symbols_; ++s) {  // sums of two: lengths of concatenations
    for (const Known& k : known_) {
      for (size_t p = 0; p < points_; ++p) rest[p] = values[p] - k.values[p];
      if (const auto ab = line(rest, known_[s].values))
        return k.expr + known_[s].expr * ab->first + ab->second;
    }
  }
  return std::nullopt;
}

std::optional<SymExpr> SizeFit::quotient(const Samples& values) const {
  for (const Known& k : known_) {
    for (int64_t d = 2; d <= kLargestDivisor; ++d) {
      // d * value <= known + c < d * (value + 1) at all points.
      int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
      for (size_t p = 0; p < points_; ++p) {
        const int64_t least = d * values[p] - k.values[p];
        low = std::max(low, least);
        high = std::min(high, least + d - 1);
      }
      if (low == high) return floor_div(k.expr + low, d);
      const bool exact = high == low + d - 1;
      if (exact && points_ * std::log2(d) >= kBitsOfChance) return floor_div(k.expr + low, d);
    }
  }
  return std::nullopt;
}

std::optional<SymExpr> SizeFit::expression(const Samples& values) {
  TD_CHECK(values.size() == points_, "a value for each point");
  std::optional<SymExpr> found = simple(values);
  if (!found) found = composed(values);
  if (!found) found = quotient(values);
  if (found && !found->is_constant()) remember({values, *found});
  return found;
}

}  // namespace aten_bridge
