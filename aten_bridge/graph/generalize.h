// From the graphs of one program at several sizes to one graph for all sizes.
//   SizeFit fit({{8}, {13}, {22}, {35}});
//   absl::StatusOr<Graph> graph = generalize({&at_8, &at_13, &at_22, &at_35}, fit);
//   substitute(*graph, {{Symbol{'s', 0}, 64}});      // that of size 64
#pragma once

#include <functional>
#include <span>

#include "absl/status/statusor.h"

#include "aten_bridge/graph/graph.h"
#include "aten_bridge/symbolic/fit.h"

namespace aten_bridge {

// Every integer expression of an argument, of a type and of a graph, in order.
using VisitSize = std::function<void(SymExpr&)>;
void for_each_size(TensorType& type, const VisitSize& visit);
template <class Tensor>
void for_each_size(ArgumentOf<Tensor>& argument, const VisitSize& visit) {
  if (auto* one = std::get_if<SymExpr>(&argument)) visit(*one);
  if (auto* list = std::get_if<std::vector<SymExpr>>(&argument))
    for (SymExpr& e : *list) visit(e);
}
void for_each_size(Node& node, const VisitSize& visit);
void for_each_size(Graph& graph, const VisitSize& visit);

// Whether a type, or an argument or a type of the node, mentions a symbol.
bool has_symbols(const TensorType& type);
bool has_symbols(const Node& node);

Graph clone(const Graph& graph);
Graph substitute(const Graph& graph, const SymbolMap& values);

// A double that counts elements (a mean's divisor) becomes an int, where only floating-point
// tensors meet it; a factor 1 / n or 2 / n a division. InvalidArgument, naming the first
// difference, where the graphs differ in more than sizes; OutOfRange where the fit does not explain
// these.
absl::StatusOr<Graph> generalize(std::span<const Graph* const> at_points, SizeFit& fit);

inline bool more_points_may_help(const absl::Status& status) { return absl::IsOutOfRange(status); }

}  // namespace aten_bridge
