// Histograms: counts, and the edges of the bins.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// (self, bins, min, max)
Types histc(Arguments a) { return {dense({a[1].toInt()}, tensor(a, 0))}; }

// (self, bins, ...): a number of bins, or their edges
Types histogram(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const int64_t bins = a[1].isInt() ? a[1].toInt() : tensor(a, 1).numel() - 1;
  return {dense({bins}, self), dense({bins + 1}, self)};
}

// (self, bins, ...): edges of each dimension
Types edges(Arguments a) {
  Types types;
  for (const int64_t bins : a[1].toIntVector()) types.push_back(dense({bins + 1}, tensor(a, 0)));
  return types;
}

// (self, bins, ...): numbers of bins
Types counts(Arguments a) { return {dense(a[1].toIntVector(), tensor(a, 0))}; }

// (self, bins, ...): tensors of edges
Types counts_between(Arguments a) {
  Sizes sizes;
  for (const at::Tensor& edges : a[1].toTensorVector()) sizes.push_back(edges.numel() - 1);
  return {dense(sizes, tensor(a, 0))};
}

constexpr ShapeRule kRules[] = {
    {"aten::histc", histc},
    {"aten::histogram.bin_ct", histogram},
    {"aten::histogram.bins_tensor", histogram},
    {"aten::_histogramdd_bin_edges", edges},
    {"aten::_histogramdd_from_bin_cts", counts},
    {"aten::_histogramdd_from_bin_tensors", counts_between},
};

}  // namespace

std::span<const ShapeRule> histogram_rules() { return kRules; }

}  // namespace aten_bridge
