// Sums of squares of what differs from a mean, in the pass over memory that makes the mean.
//   read_variances_once(program, features);
//
//   m[j] += x over r;  s[j] += (x - w(m[j]))^2 over r       reads x twice; w: the mean, whatever it
//   is
// becomes, c being a chunk of n rows and v its first one,
//   p[c, j] += x - v over r;  q[c, j] += (x - v)^2 over r                  one loop
//   m[j] += n*v + p[c, j] over c
//   s[j] += q[c, j] - p[c, j]^2 / n + n*(v + p[c, j] / n - w(m[j]))^2 over c
// which holds for any v; a row of the data is near its mean, so that little cancels. Rows that a
// block keeps in registers are left as they are: there the second pass is free.
#pragma once

#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

void read_variances_once(LoopProgram& program, const Features& features);

}  // namespace inductor
