#include "aten_bridge/graph/pad_products.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "aten_bridge/base/hash_map.h"
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

const Row* row_of(const Node& node) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.op == node.op; });
  return row == std::end(kRows) ? nullptr : row;
}

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

constexpr std::string_view kTransposes[] = {"aten::permute", "aten::t", "aten::transpose.int"};

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

bool swaps(const TensorType& a, const TensorType& b) {
  const auto swapped = [](std::vector<SymExpr> list) {
    std::swap(list[list.size() - 1], list[list.size() - 2]);
    return list;
  };
  return a.sizes == swapped(b.sizes) && a.strides == swapped(b.strides);
}

std::optional<Matrix> matrix_of(Value operand) {
  if (is_contiguous(operand.type())) return Matrix{operand, false};
  const Node& node = *operand.node;
  if (std::find(std::begin(kTransposes), std::end(kTransposes), node.op) == std::end(kTransposes))
    return std::nullopt;
  const Value self = std::get<Value>(node.arg("self"));
  if (!is_contiguous(self.type()) || !swaps(operand.type(), self.type())) return std::nullopt;
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
  Padder(const Graph& graph, const WritesAnyStrides& writes_any_strides, const PaddingCosts& costs)
      : graph_(graph), writes_any_strides_(writes_any_strides), costs_(costs) {
    for (const auto& output : graph.outputs())
      if (output) results_.insert(*output);
    for (const auto& node : graph.nodes())
      for (Value input : node->inputs()) users_[input].push_back(node.get());
    for (const auto& node : graph.nodes())
      if (const auto plan = plan_of(*node)) take(*node, *plan);
  }

  Graph pad() && {
    for (Value input : graph_.inputs()) extract_.add_input(input.node->name, input);
    for (const auto& node : graph_.nodes()) {
      if (const auto plan = plans_.find(node.get()); plan != plans_.end()) {
        product(*node, plan->second);
      } else if (!view(*node)) {
        kernel_or_call(*node);
      }
    }
    std::vector<std::optional<Value>> outputs = graph_.outputs();
    for (auto& output : outputs)
      if (output) output = original(*output);
    Graph padded = std::move(extract_).finish(graph_.outputs());
    padded.set_outputs(std::move(outputs));
    padded.name = graph_.name;
    return padded;
  }

 private:
  // None where rows are aligned, or padding does not pay.
  std::optional<Plan> plan_of(const Node& node) const {
    const Row* row = row_of(node);
    if (!row) return std::nullopt;
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
    const auto count = [&](Value value, Padding p) {
      const auto known = paddings_.find(value);
      const bool is_there = known != paddings_.end() && known->second == p;
      if (p.any() && !is_there && !is_made_by_kernel(value)) copied += elements(value.type());
    };
    count(plan.first.value, plan.of_first());
    count(plan.second.value, plan.of_second());
    const bool is_cut = plan.rows > 0 || plan.columns > 0;
    if (!is_cut && !plan.of_first().any() && !plan.of_second().any()) return false;
    if (is_cut && is_copied(node.output(0))) copied += elements(result);
    const double inner =
        static_cast<double>(size_of(std::get<Value>(node.arg(plan.row->first)).type(), 1));
    const double operations = 2 * elements(result) * inner;
    const double bytes = 2 * copied * static_cast<double>(size_in_bytes(result.dtype));
    return operations >= costs_.least_operations &&
           operations >= costs_.operations_per_byte * bytes;
  }

  // Whether somebody reads the value with eager's strides.
  bool is_copied(Value value) const {
    if (results_.contains(value)) return true;
    const auto users = users_.find(value);
    return users != users_.end() &&
           std::any_of(users->second.begin(), users->second.end(), [&](const Node* user) {
             if (is_known_view(*user)) return is_copied(user->output(0));
             return !reads_any_strides(*user);
           });
  }

  bool reads_any_strides(const Node& node) const {
    return row_of(node) != nullptr || writes_any_strides_(node);
  }

  void take(const Node& node, const Plan& plan) {
    plans_.emplace(&node, plan);
    if (plan.of_first().any()) paddings_.try_emplace(plan.first.value, plan.of_first());
    if (plan.of_second().any()) paddings_.try_emplace(plan.second.value, plan.of_second());
  }

  // Its origin is itself: where its kernel is rejected, ATen runs it.
  Value add(const std::string& op, std::vector<Argument> args, TensorType type) {
    return extract_.graph().add(op, std::move(args), {std::move(type)}, op)->output(0);
  }

  // With `amount` zeros more along a dimension. The parts of a concatenation are written where they
  // are made.
  Value concatenated(Value value, size_t dim, int64_t amount) {
    if (amount == 0) return value;
    TensorType zeros = value.type(), type = value.type();
    zeros.sizes[dim] = amount;
    zeros.strides = contiguous_strides(zeros.sizes);
    type.sizes[dim] = type.sizes[dim] + amount;
    type.strides = contiguous_strides(type.sizes);
    const Value added = add("aten::full",
                            {{"size", zeros.sizes},
                             {"fill_value", SymExpr(0)},
                             {"dtype", zeros.dtype},
                             {"layout", SymExpr(0)},
                             {"device", zeros.device},
                             {"pin_memory", ArgumentValue()}},
                            zeros);
    return add("aten::cat",
               {{"tensors", std::vector<std::optional<Value>>{value, added}},
                {"dim", SymExpr(static_cast<int64_t>(dim))}},
               type);
  }

  Value copied(Value value, Padding p) {
    TensorType type = value.type();
    const size_t rank = type.sizes.size();
    std::vector<SymExpr> amounts{0, p.columns};
    type.sizes[rank - 1] = type.sizes[rank - 1] + p.columns;
    if (rank > 1) {
      amounts.insert(amounts.end(), {0, p.rows});
      type.sizes[rank - 2] = type.sizes[rank - 2] + p.rows;
    }
    type.strides = contiguous_strides(type.sizes);
    return add("aten::constant_pad_nd", {{"self", value}, {"pad", amounts}, {"value", SymExpr(0)}},
               type);
  }

  // Whether a kernel of ours makes it, or what it is a view of.
  bool is_made_by_kernel(Value value) const {
    while (is_known_view(*value.node)) value = std::get<Value>(value.node->arg("self"));
    return !value.node->is_input() && writes_any_strides_(*value.node);
  }

  // With `p` more rows and columns of zeros: made of `from`, once.
  Value padded(Value value, Padding p, Value from) {
    const auto [known, is_new] = padded_.try_emplace({value, p}, from);
    if (!is_new) return known->second;
    if (!is_made_by_kernel(value)) return known->second = copied(from, p);
    const size_t rank = from.type().sizes.size();
    const Value wider = concatenated(from, rank - 1, p.columns);
    return known->second = p.rows > 0 ? concatenated(wider, rank - 2, p.rows) : wider;
  }

  Value operand(Value of_product, const Matrix& matrix, Padding p) {
    if (!p.any()) return extract_.at(of_product);
    const Value value = padded(matrix.value, p, extract_.at(matrix.value));
    if (!matrix.transposed) return value;
    TensorType type = value.type();
    const size_t rank = type.sizes.size();
    std::swap(type.sizes[rank - 1], type.sizes[rank - 2]);
    std::swap(type.strides[rank - 1], type.strides[rank - 2]);
    return add("aten::permute", {{"self", value}, {"dims", swap_of(rank)}}, type);
  }

  Value without(Value value, size_t dim, int64_t missing) {
    if (missing == 0) return value;
    TensorType type = value.type();
    type.sizes[dim] = type.sizes[dim] - missing;
    const SymExpr size = type.sizes[dim];
    return add("aten::slice.Tensor",
               {{"self", value},
                {"dim", SymExpr(static_cast<int64_t>(dim))},
                {"start", SymExpr(0)},
                {"end", size},
                {"step", SymExpr(1)}},
               type);
  }

  Value without(Value value, Padding p) {
    const size_t rank = value.type().sizes.size();
    value = without(value, rank - 1, p.columns);
    return p.rows > 0 ? without(value, rank - 2, p.rows) : value;
  }

  // The copy of a value with the strides that the graph has it in.
  Value original(Value value) {
    const Value copy = extract_.at(value);
    if (copy.type().strides == value.type().strides) return copy;
    if (const auto known = originals_.find(value); known != originals_.end()) return known->second;
    const Value own =
        add("aten::clone", {{"self", copy}, {"memory_format", ArgumentValue()}}, value.type());
    return originals_[value] = own;
  }

  template <class Map>
  const Node* write(const Node& node, Map map, std::vector<std::optional<TensorType>> outputs) {
    std::vector<Argument> args = node.args;
    for (Argument& a : args) a.value = map_tensors(a.value, map);
    return extract_.graph().add(node.op, std::move(args), std::move(outputs), node.origin);
  }

  // A copy, and beside it the padded one that products are to read.
  void put(Value value, Value copy) {
    extract_.put(value, copy);
    if (const auto padding = paddings_.find(value); padding != paddings_.end())
      padded(value, padding->second, copy);
  }

  // A view of the copy, where the graph's has no gaps and so could be made again.
  bool view(const Node& node) {
    if (!is_known_view(node)) return false;
    const Value self = std::get<Value>(node.arg("self"));
    if (extract_.at(self).type().strides == self.type().strides) return false;
    TensorType type = *node.outputs[0];
    if (has_symbols(type)) return false;
    const auto strides = strides_of_view(node, extract_.at(self).type());
    if (!strides) return false;
    type.strides = *strides;
    put(node.output(0), write(node, [&](Value v) { return extract_.at(v); }, {type})->output(0));
    return true;
  }

  void kernel_or_call(const Node& node) {
    const bool any = reads_any_strides(node);
    const Node* copy = write(
        node, [&](Value v) { return any ? extract_.at(v) : original(v); }, node.outputs);
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
      put(node.output(i), copy->output(i));
  }

  void product(const Node& node, const Plan& plan) {
    std::vector<Argument> args;
    for (const Argument& argument : node.args) {
      ArgumentValue value = map_tensors(argument.value, [&](Value v) { return extract_.at(v); });
      if (argument.name == plan.row->first)
        value = operand(std::get<Value>(argument.value), plan.first, plan.of_first());
      if (argument.name == plan.row->second)
        value = operand(std::get<Value>(argument.value), plan.second, plan.of_second());
      if (plan.row->adds && argument.name == "self" && plan.columns > 0)
        value = padded(std::get<Value>(argument.value), {0, plan.columns}, std::get<Value>(value));
      args.push_back({argument.name, std::move(value)});
    }
    TensorType larger = *node.outputs[0];
    const size_t rank = larger.sizes.size();
    larger.sizes[rank - 2] = larger.sizes[rank - 2] + plan.rows;
    larger.sizes[rank - 1] = larger.sizes[rank - 1] + plan.columns;
    larger.strides = contiguous_strides(larger.sizes);
    const Value result =
        extract_.graph().add(node.op, std::move(args), {larger}, node.origin)->output(0);
    put(node.output(0), without(result, {plan.rows, plan.columns}));
  }

  const Graph& graph_;
  const WritesAnyStrides& writes_any_strides_;
  const PaddingCosts& costs_;
  HashSet<Value> results_;
  HashMap<Value, std::vector<const Node*>> users_;
  HashMap<const Node*, Plan> plans_;
  HashMap<Value, Padding> paddings_;  // the first one of each matrix
  HashMap<Value, Value> originals_;   // copies with the graph's strides
  HashMap<std::pair<Value, Padding>, Value> padded_;
  Extract extract_{"padded"};
};

}  // namespace

Graph pad_products(const Graph& graph, const WritesAnyStrides& writes_any_strides,
                   const PaddingCosts& costs) {
  return Padder(graph, writes_any_strides, costs).pad();
}

}  // namespace aten_bridge
