#include "aten_bridge/trace/generalize.h"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/generalize.h"

namespace aten_bridge {
namespace {

void for_each_size(ResultSource& source, const VisitSize& visit) {
  for (SymExpr& e : source.sizes) visit(e);
  for (SymExpr& e : source.strides) visit(e);
  visit(source.offset);
}

bool is_same_constant(const at::Tensor& a, const at::Tensor& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && a.sizes() == b.sizes() &&
         a.strides() == b.strides() && at::equal(a, b);
}

// What of a result does not depend on sizes.
bool is_alike(const ResultSource& a, const ResultSource& b) {
  return a.kind == b.kind && a.index == b.index && a.detached == b.detached &&
         a.sizes.size() == b.sizes.size();
}

bool is_alike(const Mutation& a, const Mutation& b) {
  return a.input == b.input && a.result == b.result;
}

bool is_alike(const Assumption& a, const Assumption& b) {
  return a.result == b.result && a.raises == b.raises && a.number && b.number &&
         is_same(*a.number, *b.number);
}

template <class Item, class Same>
bool all_alike(const std::vector<Item>& a, const std::vector<Item>& b, const Same& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

// The first thing, apart from the graph, that differs in more than sizes; null: none.
const char* difference(const Captured& a, const Captured& b) {
  const auto alike = [](const auto& x, const auto& y) { return is_alike(x, y); };
  if (!all_alike(a.constants, b.constants, is_same_constant)) return "a constant's values";
  if (!all_alike(a.results, b.results, alike)) return "where results come from";
  if (!all_alike(a.mutations, b.mutations, alike)) return "which arguments change";
  if (!all_alike(a.assumptions, b.assumptions, alike)) return "what is read from values";
  if (a.differentiable != b.differentiable) return "which results have gradients";
  if (a.draws != b.draws) return "whether random numbers are drawn";
  return nullptr;
}

// The same place of each capture's result, at all points.
absl::StatusOr<ResultSource> generalize(const std::vector<Captured>& at_points, size_t result,
                                        SizeFit& fit) {
  std::vector<Samples> values;  // one a size
  for (const Captured& other : at_points) {
    size_t position = 0;
    ResultSource source = other.results[result];
    for_each_size(source, [&](SymExpr& e) {
      values.resize(std::max(values.size(), position + 1));
      values[position++].push_back(e.as_constant());
    });
  }
  ResultSource source = at_points[0].results[result];
  bool explained = true;
  size_t position = 0;
  for_each_size(source, [&](SymExpr& e) {
    const auto fitted = fit.expression(values[position++]);
    explained &= fitted.has_value();
    if (fitted) e = *fitted;
  });
  if (!explained)
    return absl::OutOfRangeError("no expression of the sizes gives the sizes of a result");
  return source;
}

}  // namespace

absl::StatusOr<Captured> generalize(const std::vector<Captured>& at_points, SizeFit& fit) {
  const Captured& first = at_points[0];
  std::vector<const Graph*> graphs;
  for (const Captured& other : at_points) {
    if (const char* what = difference(first, other))
      return absl::InvalidArgumentError(str_cat("at another size another is ", what));
    graphs.push_back(&other.joint.graph);
  }
  absl::StatusOr<Graph> graph = generalize(graphs, fit);
  if (!graph.ok()) return graph.status();
  Captured captured{
      {*std::move(graph), first.joint.primals, first.joint.tangents, first.joint.results},
      first.constants,
      {},
      first.mutations,
      first.assumptions,
      first.draws,
      first.differentiable};
  for (size_t r = 0; r < first.results.size(); ++r) {
    auto source = generalize(at_points, r, fit);
    if (!source.ok()) return source.status();
    captured.results.push_back(*std::move(source));
  }
  return captured;
}

ResultSource substitute(ResultSource source, const SymbolMap& sizes) {
  for_each_size(source, [&](SymExpr& e) { e = e.substitute(sizes); });
  return source;
}

}  // namespace aten_bridge
