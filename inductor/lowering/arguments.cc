#include "inductor/lowering/arguments.h"

#include <algorithm>

#include "aten_bridge/base/check.h"

namespace inductor {

bool is_none(const Node& node, std::string_view arg) {
  return std::holds_alternative<std::monostate>(node.arg(arg));
}

bool flag(const Node& node, std::string_view arg) { return std::get<bool>(node.arg(arg)); }

SymExpr integer(const Node& node, std::string_view arg, const SymExpr& otherwise) {
  return is_none(node, arg) ? otherwise : std::get<SymExpr>(node.arg(arg));
}

std::vector<SymExpr> integers(const Node& node, std::string_view arg) {
  if (is_none(node, arg)) return {};
  if (const auto* one = std::get_if<SymExpr>(&node.arg(arg))) return {*one};
  return std::get<std::vector<SymExpr>>(node.arg(arg));
}

std::vector<int64_t> known(const std::vector<SymExpr>& sizes) {
  std::vector<int64_t> values;
  for (const SymExpr& size : sizes) values.push_back(size.constant().value_or(-1));
  return values;
}

std::vector<int64_t> spread(const Node& node, std::string_view arg, size_t n,
                            const std::vector<int64_t>& otherwise) {
  std::vector<int64_t> values = known(integers(node, arg));
  if (values.empty()) return otherwise;
  if (values.size() == 1) values.resize(n, values[0]);
  return values;
}

Value tensor(const Node& node, std::string_view arg) { return std::get<Value>(node.arg(arg)); }

std::vector<std::optional<Value>> tensors(const Node& node, std::string_view arg) {
  // An empty list may have been printed as one of another type.
  const auto* list = std::get_if<std::vector<std::optional<Value>>>(&node.arg(arg));
  return list ? *list : std::vector<std::optional<Value>>{};
}

int wrapped(int64_t dim, int rank) {
  const int64_t shown = std::max(rank, 1);  // a 0-dimensional tensor has a dimension 0, too
  TD_CHECK(dim >= -shown && dim < shown, "dimension ", dim, " of ", rank);
  return static_cast<int>(dim < 0 ? dim + shown : dim);
}

int dimension(const Node& node, std::string_view arg, int rank) {
  return wrapped(std::get<SymExpr>(node.arg(arg)).as_constant(), rank);
}

SymExpr wrapped(const SymExpr& index, const SymExpr& size) {
  const auto known = index.constant();
  return known && *known < 0 ? index + size : index;
}

}  // namespace inductor
