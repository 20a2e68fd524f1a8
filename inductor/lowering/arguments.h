// Reading a node's arguments.
//   const int dim = dimension(node, "dim", rank);        // -1 is the last
//   const bool keepdim = flag(node, "keepdim");
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace inductor {

using aten_bridge::Node;
using aten_bridge::SymExpr;
using aten_bridge::Value;

bool is_none(const Node& node, std::string_view arg);
bool flag(const Node& node, std::string_view arg);
// An int; `otherwise` where it is None.
SymExpr integer(const Node& node, std::string_view arg, const SymExpr& otherwise = 0);
std::vector<SymExpr> integers(const Node& node, std::string_view arg);
// The numbers among them, -1 for a symbol.
std::vector<int64_t> known(const std::vector<SymExpr>& sizes);
// An int[n] argument: one number stands for all, none for `otherwise`.
std::vector<int64_t> spread(const Node& node, std::string_view arg, size_t n,
                            const std::vector<int64_t>& otherwise);
Value tensor(const Node& node, std::string_view arg);
std::vector<std::optional<Value>> tensors(const Node& node, std::string_view arg);

int wrapped(int64_t dim, int rank);
int dimension(const Node& node, std::string_view arg, int rank);
// An index or slice bound of a dimension: a negative constant counts from the end.
SymExpr wrapped(const SymExpr& index, const SymExpr& size);

}  // namespace inductor
