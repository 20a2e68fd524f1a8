// Reductions that follow an extremum of their own loop while it grows: what reads the complete
// extremum (loop.h) is kept in step with the one so far.
//   m[0] max= x[i]   s[0] += exp(x[i] - m[0])                     a sum of exponentials
//   m[0] max= x[i]   p[0] min= select(x[i] == m[0], i, none)      its first place
//
//   if (const Reduce* leader = leader_of(loop.body, reduce)) {
//     const Following f = *following(reduce, *leader);
//     ...
//   }
#pragma once

#include <optional>
#include <span>

#include "inductor/ir/loop.h"

namespace inductor {

struct Following {
  enum class What : uint8_t { kExponentials, kPlace };
  What what;
  Expr element;  // of which the leader is the extremum
  Expr place;    // kPlace: where that element is, an i64
};

// How a reduction follows another one of the same iterations; none: it does not. By its form: NaN
// equals NaN where the place of an extremum is sought.
std::optional<Following> following(const Reduce& reduce, const Reduce& leader);

// In the body of a loop, of which each is a statement; null where there is none.
const Reduce* leader_of(std::span<const Stmt> body, const Reduce& follower);
const Reduce* follower_of(std::span<const Stmt> body, const Reduce& leader);

// What a body's statements compute: all expressions, but of what leads or follows the element and
// its place alone.
std::vector<Expr> computed(std::span<const Stmt> body);

}  // namespace inductor
