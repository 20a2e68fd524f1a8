// The windows that pooling moves over one dimension, as index expressions of loop variables.
//   Windows w = Windows::strided(/*in=*/112, /*out=*/56, /*kernel=*/3, /*stride=*/2,
//   /*padding=*/1); Visit v = w.element(o, j);     // the j-th element of window o: v.at, if v is
//   inside Visit c = w.covering(i, j);    // the j-th of the windows that element i may lie in
// Loops over j run to the largest count, w.most() and w.most_covering(); a visit whose conditions
// do not hold counts for nothing.
#pragma once

#include <vector>

#include "inductor/lowering/row.h"
#include "inductor/lowering/term.h"

namespace inductor {

// A place that may lie outside: it is inside where no condition is negative.
struct Visit {
  SymExpr at;  // kept inside of the dimension
  std::vector<SymExpr> conditions;
};

class Windows {
 public:
  static Windows strided(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation = 1);
  // ATen's adaptive pooling: window o is [floor(o in / out), ceil((o + 1) in / out)).
  static Windows adaptive(int64_t in, int64_t out);

  int64_t most() const;
  int64_t most_covering() const;
  Visit element(const SymExpr& o, const SymExpr& j) const;
  Visit covering(const SymExpr& i, const SymExpr& j) const;
  // Which element of that window it is, kept inside; of windows without dilation.
  SymExpr place_in_covering(const SymExpr& i, const SymExpr& j) const;
  // How many elements a mean over window o divides by; with padding, as ATen's ceil_mode cuts it.
  SymExpr count(const SymExpr& o, bool with_padding) const;

 private:
  SymExpr first(const SymExpr& o) const;
  SymExpr end(const SymExpr& o) const;

  bool adaptive_ = false;
  int64_t in_, out_, kernel_ = 0, stride_ = 0, padding_ = 0, dilation_ = 1;
};

// Whether every condition of every visit holds; a null term where there are none.
Term all_hold(Builder& b, const std::vector<Visit>& visits);

}  // namespace inductor
