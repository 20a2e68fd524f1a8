#include "torchdyn/package/format/manifest.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace torchdyn {

using aten_bridge::str_cat;

std::string kernels_section(std::string_view target) { return str_cat("kernels/", target); }

std::string section_name(const PackagedVariant& variant, std::string_view graph,
                         std::string_view what) {
  return str_cat(variant.name, "/", graph, ".", what);
}

namespace {

bool same_layout(const TensorType& a, const TensorType& b) {
  if (std::any_of(a.sizes.begin(), a.sizes.end(), [](const SymExpr& e) { return e == 0; }))
    return true;
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

}  // namespace

Verdict check_input(const PackagedInput& input, const TensorType& given) {
  const TensorType& expected = input.type;
  if (given.dtype == expected.dtype && given.device == expected.device &&
      given.sizes == expected.sizes && same_layout(expected, given))
    return Verdict::yes();
  const std::string place = input.argument ? str_cat(*input.argument, " (", input.name, ")")
                                           : str_cat("'", input.name, "'");
  return Verdict::no(str_cat("input ", place, ": expected ", aten_bridge::print(expected),
                             ", given ", aten_bridge::print(given)));
}

}  // namespace torchdyn
