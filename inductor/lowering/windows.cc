#include "inductor/lowering/windows.h"

#include <algorithm>

namespace inductor {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
SymExpr ceil_div(const SymExpr& a, int64_t b) { return floor_div(a + (b - 1), b); }

// `at` in a dimension of `size`, where it is known to lie within [lowest, highest].
Visit visit(const SymExpr& at, int64_t lowest, int64_t highest, int64_t size) {
  Visit v{at, {}};
  if (lowest < 0) {
    v.conditions.push_back(at);
    v.at = max(v.at, 0);
  }
  if (highest >= size) {
    v.conditions.push_back(size - 1 - at);
    v.at = min(v.at, size - 1);
  }
  return v;
}

}  // namespace

Windows Windows::strided(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation) {
  Windows w;
  w.in_ = in;
  w.out_ = out;
  w.kernel_ = kernel;
  w.stride_ = stride;
  w.padding_ = padding;
  w.dilation_ = dilation;
  return w;
}

Windows Windows::adaptive(int64_t in, int64_t out) {
  Windows w;
  w.adaptive_ = true;
  w.in_ = in;
  w.out_ = out;
  return w;
}

SymExpr Windows::first(const SymExpr& o) const {
  return adaptive_ ? floor_div(o * in_, out_) : o * stride_ - padding_;
}

SymExpr Windows::end(const SymExpr& o) const {
  return adaptive_ ? ceil_div((o + 1) * in_, out_) : first(o) + kernel_;
}

// Adaptive windows (and those that cover an element) are one longer where they do not divide
// evenly.
int64_t Windows::most() const {
  if (!adaptive_) return kernel_;
  return ceil_div(in_, out_) + (in_ % out_ == 0 ? 0 : 1);
}

int64_t Windows::most_covering() const {
  if (adaptive_) return ceil_div(out_, in_) + (out_ % in_ == 0 ? 0 : 1);
  return ceil_div((kernel_ - 1) * dilation_ + 1, stride_);
}

Visit Windows::element(const SymExpr& o, const SymExpr& j) const {
  if (!adaptive_)
    return visit(first(o) + j * dilation_, -padding_,
                 (out_ - 1) * stride_ - padding_ + (kernel_ - 1) * dilation_, in_);
  const SymExpr at = first(o) + j;
  if (in_ % out_ == 0) return {at, {}};
  return {min(at, in_ - 1), {end(o) - 1 - at}};
}

Visit Windows::covering(const SymExpr& i, const SymExpr& j) const {
  if (adaptive_) {
    const SymExpr o = floor_div(i * out_, in_) + j;
    if (out_ % in_ == 0) return {o, {}};
    return {min(o, out_ - 1), {ceil_div((i + 1) * out_, in_) - 1 - o}};
  }
  const int64_t before = most_covering() - 1;  // windows, from the first that may reach i
  const SymExpr o = floor_div(i + padding_, stride_) - before + j;
  Visit v = visit(o, padding_ / stride_ - before, (in_ - 1 + padding_) / stride_, out_);
  // The windows before the last reach i unless the kernel is no multiple of the stride.
  const int64_t reach = (kernel_ - 1) * dilation_;
  if ((before + 1) * stride_ - 1 > reach) v.conditions.push_back(first(o) + reach - i);
  return v;
}

SymExpr Windows::place_in_covering(const SymExpr& i, const SymExpr& j) const {
  const int64_t before = most_covering() - 1;
  const SymExpr at = mod(i + padding_, stride_) + (before - j) * stride_;
  return (before + 1) * stride_ > kernel_ ? min(at, kernel_ - 1) : at;
}

SymExpr Windows::count(const SymExpr& o, bool with_padding) const {
  if (adaptive_) return in_ % out_ == 0 ? SymExpr(in_ / out_) : end(o) - first(o);
  const int64_t last_end = (out_ - 1) * stride_ - padding_ + kernel_;
  const int64_t bound = with_padding ? in_ + padding_ : in_;
  const SymExpr stop = last_end > bound ? min(end(o), bound) : end(o);
  const SymExpr start = with_padding || padding_ == 0 ? first(o) : max(first(o), 0);
  return stop - start;
}

Term all_hold(Builder& b, const std::vector<Visit>& visits) {
  Term all;
  for (const Visit& v : visits)
    for (const SymExpr& condition : v.conditions) {
      const Term holds = Term{&b.pool(), b.pool().index(condition)} >= 0.0;
      all = all ? bit_and(all, holds) : holds;
    }
  return all;
}

}  // namespace inductor
