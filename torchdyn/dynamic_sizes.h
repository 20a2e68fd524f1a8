// Sizes that may change from call to call without another capture.
//   DynamicSizes sizes;                                 // f(x, n): x is [n, 64]
//   sizes.tensors = {{{s0, 64}, {64, 1}}};
//   sizes.numbers = {s0};
//   sizes.samples = {{13}, {22}, {35}};                 // sizes for which the call can be traced
//   auto guards = SizeGuards::make(sizes, leaves);
//   (*guards).values(leaves) == Samples{8};             // for an x of [8, 64] and n = 8
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "aten_bridge/symbolic/fit.h"
#include "torchdyn/compile.h"

namespace torchdyn {

using aten_bridge::Samples;
using aten_bridge::SymbolMap;
using aten_bridge::SymExpr;

// Symbols are s0, s1, ..., with a value each in every row of samples. Each is, alone, a size of
// some tensor or a number.
struct DynamicSizes {
  struct Geometry {
    std::vector<SymExpr> sizes, strides;
  };
  std::vector<std::optional<Geometry>> tensors;  // one of Leaves::tensors each; none: it is fixed
  std::vector<SymExpr> numbers;                  // one of Leaves::numbers each
  std::vector<Samples> samples;                  // rows of values of the symbols
};

SymbolMap map_of(const Samples& values);  // s0, s1, ...

// Whether a call's arguments have the sizes that they should, for some values of the symbols.
class SizeGuards {
 public:
  // InvalidArgument, with the reason, where the symbols cannot be read from such a call.
  static absl::StatusOr<SizeGuards> make(DynamicSizes sizes, const internal::Leaves& leaves);

  const DynamicSizes& sizes() const { return sizes_; }
  // The symbols' values in this call; none where a size is not what they make it, or one is below
  // 2: a size of 0 or 1 means another program (broadcasting, memory without elements).
  std::optional<Samples> values(const internal::Leaves& leaves) const;
  std::string describe() const;  // "sizes: s0 = 8, s1 = 3 in the first call"

 private:
  struct Source {  // of a symbol: a tensor's dimension, or a number where there is no tensor
    int tensor = -1, index = -1;
  };
  DynamicSizes sizes_;
  std::vector<Source> sources_;  // one a symbol
  Samples first_;
};

}  // namespace torchdyn
