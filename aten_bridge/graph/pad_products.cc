#include "aten_bridge/graph/pad_products.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "aten_bridge/graph/extract.h"
#include "aten_bridge/graph/generalize.h"

namespace aten_bridge {
namespace {

constexpr int64_t kAlignment = 16;  // bytes

struct Row {
  std::string_view op, first, second;
  bool adds;  // `self` to the product, a row to each row
};
constexpr Row kRows[] = {
    {"aten::mm", "self", "mat2", false},
    {"aten::bmm", "self", "mat2", false},
    {"aten::addmm", "mat1", "mat2", true},
};

int64_t missing(int64_t size, const TensorType& type) {
  const int64_t unit = kAlignment / static_cast<int64_t>(size_in_bytes(type.dtype));
  return (unit - size % unit) % unit;
}

int64_t size_of(const TensorType& type, int from_end) {
  return type.sizes[type.sizes.size() - static_cast<size_t>(from_end)].as_constant();
}

double elements(const TensorType& type) {
  double count = 1;
  for (const SymExpr& size : type.sizes) count *= static_cast<double>(size.as_constant());
  return count;
}

// How many rows and columns are missing.
struct Padding {
  int64_t rows = 0, columns = 0;
  bool any() const { return rows > 0 || columns > 0; }
  template <typename H>
  friend H AbslHashValue(H h, const Padding& p) {
    return H::combine(std::move(h), p.rows, p.columns);
  }
  bool operator==(const Padding&) const = default;
};

// A matrix, or its transpose, that lies row after row.
struct Matrix {
  Value value;      // an operand, or what it is a transpose of
  bool transposed;  // the operand is
};

// The dims of a permutation that swaps the last two.
std::vector<SymExpr> swap_of(size_t rank) {
  std::vector<SymExpr> dims;
  for (size_t d = 0; d + 2 < rank; ++d) dims.emplace_back(static_cast<int64_t>(d));
  dims.emplace_back(static_cast<int64_t>(rank) - 1);
  dims.emplace_back(static_cast<int64_t>(rank) - 2);
  return dims;
}

std::optional<Matrix> matrix_of(Value operand) {
  if (is_contiguous(operand.type())) return Matrix{operand, false};
  const Node& node = *operand.node;
  if (node.op != "aten::permute") return std::nullopt;
  const Value self = std::get<Value>(node.arg("self"));
  const auto* dims = std::get_if<std::vector<SymExpr>>(&node.arg("dims"));
  if (!dims || *dims != swap_of(dims->size()) || !is_contiguous(self.type())) return std::nullopt;
  return Matrix{self, true};
}

// What is padded for one product.
struct Plan {
  const Row* row = nullptr;
  Matrix first, second;
  int64_t rows = 0, inner = 0, columns = 0;  // missing in [rows, inner] x [inner, columns]

  Padding of_first() const {
    return first.transposed ? Padding{inner, rows} : Padding{rows, inner};
  }
  Padding of_second() const {
    return second.transposed ? Padding{columns, inner} : Padding{inner, columns};
  }
};

class Padder {
 public:
  Padder(const Graph& graph, const PaddingCosts& costs) : graph_(graph), costs_(costs) {
    for (const auto& output : graph.outputs())
      if (output) results_.insert(*output);
  }

  Graph pad() && {
    for (Value input : graph_.inputs()) extract_.add_input(input.node->name, input);
    for (const auto& node : graph_.nodes()) {
      if (const auto plan = plan_of(*node)) {
        write(*node, *plan);
      } else {
        extract_.add(*node);
      }
    }
    Graph padded = std::move(extract_).finish(graph_.outputs());
    std::vector<std::optional<Value>> outputs = padded.outputs();
    for (size_t i = 0; i < outputs.size(); ++i)
      if (const auto& old = graph_.outputs()[i]; old && copies_.contains(*old))
        outputs[i] = copies_.at(*old);
    padded.set_outputs(std::move(outputs));
    padded.name = graph_.name;
    return padded;
  }

 private:
  // None where rows are aligned, or padding does not pay.
  std::optional<Plan> plan_of(const Node& node) const {
    const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                  [&](const Row& r) { return r.op == node.op; });
    if (row == std::end(kRows)) return std::nullopt;
    const TensorType& result = *node.outputs[0];
    if (result.dtype != DType::kBFloat16 && result.dtype != DType::kFloat16) return std::nullopt;
    const Value a = std::get<Value>(node.arg(row->first)),
                b = std::get<Value>(node.arg(row->second));
    if (has_symbols(a.type()) || has_symbols(b.type())) return std::nullopt;
    const auto first = matrix_of(a), second = matrix_of(b);
    if (!first || !second || !is_contiguous(result)) return std::nullopt;
    if (row->adds && std::get<Value>(node.arg("self")).type().sizes.size() != 1)
      return std::nullopt;

    Plan plan{row, *first, *second};
    const int64_t rows = size_of(a.type(), 2), inner = size_of(a.type(), 1);
    const int64_t columns = size_of(b.type(), 1);
    if (first->transposed) plan.rows = missing(rows, result);
    if (!first->transposed || second->transposed) plan.inner = missing(inner, result);
    plan.columns = missing(columns, result);
    return pays(node, plan) ? std::optional(plan) : std::nullopt;
  }

  bool pays(const Node& node, const Plan& plan) const {
    const TensorType& result = *node.outputs[0];
    double copied = 0;  // elements
    if (plan.of_first().any()) copied += elements(plan.first.value.type());
    if (plan.of_second().any()) copied += elements(plan.second.value.type());
    const bool is_cut = plan.rows > 0 || plan.columns > 0;
    if (!is_cut && copied == 0) return false;
    if (is_cut && results_.contains(node.output(0))) copied += elements(result);
    const double inner =
        static_cast<double>(size_of(std::get<Value>(node.arg(plan.row->first)).type(), 1));
    const double operations = 2 * elements(result) * inner;
    const double bytes = 2 * copied * static_cast<double>(size_in_bytes(result.dtype));
    return operations >= costs_.least_operations &&
           operations >= costs_.operations_per_byte * bytes;
  }

  // Its origin is itself: where its kernel is rejected, ATen runs it.
  Value add(const std::string& op, std::vector<Argument> args, TensorType type) {
    return extract_.graph().add(op, std::move(args), {std::move(type)}, op)->output(0);
  }

  // With `p` more rows and columns of zeros.
  Value padded(Value value, Padding p) {
    const auto [known, is_new] = padded_.try_emplace({value, p});
    if (!is_new) return known->second;
    TensorType type = value.type();
    const size_t rank = type.sizes.size();
    std::vector<SymExpr> amounts{0, p.columns};
    type.sizes[rank - 1] = type.sizes[rank - 1] + p.columns;
    if (rank > 1) {
      amounts.insert(amounts.end(), {0, p.rows});
      type.sizes[rank - 2] = type.sizes[rank - 2] + p.rows;
    }
    type.strides = contiguous_strides(type.sizes);
    return known->second =
               add("aten::constant_pad_nd",
                   {{"self", extract_.at(value)}, {"pad", amounts}, {"value", SymExpr(0)}}, type);
  }

  Value operand(Value original, const Matrix& matrix, Padding p) {
    if (!p.any()) return extract_.at(original);
    const Value value = padded(matrix.value, p);
    if (!matrix.transposed) return value;
    TensorType type = value.type();
    const size_t rank = type.sizes.size();
    std::swap(type.sizes[rank - 1], type.sizes[rank - 2]);
    std::swap(type.strides[rank - 1], type.strides[rank - 2]);
    return add("aten::permute", {{"self", value}, {"dims", swap_of(rank)}}, type);
  }

  Value without(Value value, int64_t dim, int64_t missing) {
    if (missing == 0) return value;
    TensorType type = value.type();
    const SymExpr size = type.sizes[static_cast<size_t>(dim)] - missing;
    type.sizes[static_cast<size_t>(dim)] = size;
    return add("aten::slice.Tensor",
               {{"self", value},
                {"dim", SymExpr(dim)},
                {"start", SymExpr(0)},
                {"end", size},
                {"step", SymExpr(1)}},
               type);
  }

  void write(const Node& node, const Plan& plan) {
    std::vector<Argument> args;
    for (const Argument& argument : node.args) {
      ArgumentValue value = map_tensors(argument.value, [&](Value v) { return extract_.at(v); });
      if (argument.name == plan.row->first)
        value = operand(std::get<Value>(argument.value), plan.first, plan.of_first());
      if (argument.name == plan.row->second)
        value = operand(std::get<Value>(argument.value), plan.second, plan.of_second());
      if (plan.row->adds && argument.name == "self" && plan.columns > 0)
        value = padded(std::get<Value>(argument.value), {0, plan.columns});
      args.push_back({argument.name, std::move(value)});
    }
    const TensorType& type = *node.outputs[0];
    TensorType larger = type;
    const size_t rank = type.sizes.size();
    larger.sizes[rank - 2] = larger.sizes[rank - 2] + plan.rows;
    larger.sizes[rank - 1] = larger.sizes[rank - 1] + plan.columns;
    larger.strides = contiguous_strides(larger.sizes);
    Value result = extract_.graph().add(node.op, std::move(args), {larger}, node.origin)->output(0);
    result = without(result, static_cast<int64_t>(rank) - 1, plan.columns);
    result = without(result, static_cast<int64_t>(rank) - 2, plan.rows);
    extract_.put(node.output(0), result);
    if (results_.contains(node.output(0)) && result.type().strides != type.strides)
      copies_[node.output(0)] =
          add("aten::clone", {{"self", result}, {"memory_format", ArgumentValue()}}, type);
  }

  const Graph& graph_;
  const PaddingCosts& costs_;
  absl::flat_hash_set<Value> results_;
  absl::flat_hash_map<Value, Value> copies_;  // of results, with eager's strides
  absl::flat_hash_map<std::pair<Value, Padding>, Value> padded_;
  Extract extract_{"padded"};
};

}  // namespace

Graph pad_products(const Graph& graph, const PaddingCosts& costs) {
  return Padder(graph, costs).pad();
}

}  // namespace aten_bridge
