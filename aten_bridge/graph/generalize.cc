#include "aten_bridge/graph/generalize.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/extract.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

Graph copy_with(const Graph& graph, const std::function<void(Extract&, const Node&)>& copy_node) {
  Extract copy(graph.name);
  for (const Value& input : graph.inputs()) copy.add_input(input.node->name, input);
  for (const auto& node : graph.nodes()) copy_node(copy, *node);
  return std::move(copy).finish(graph.outputs());
}

// Arguments that are one double: those that differ from size to size count elements.
void for_each_double(Graph& graph, const std::function<void(Node&, ArgumentValue&)>& visit) {
  for (const auto& node : graph.nodes())
    for (Argument& argument : node->args)
      if (std::holds_alternative<double>(argument.value)) visit(*node, argument.value);
}

// Everything of a graph but its numbers, as text.
std::string skeleton(const Graph& graph) {
  Graph bare = clone(graph);
  for_each_size(bare, [](SymExpr& e) { e = 0; });
  for_each_double(bare, [](Node&, ArgumentValue& number) { number = 0.0; });
  return print(bare);
}

// The first line of `b` that `a` has otherwise, from where they part.
std::string first_difference(std::string_view a, std::string_view b) {
  const size_t end = std::min(a.size(), b.size());
  size_t at = 0;
  while (at < end && a[at] == b[at]) ++at;
  const auto line = [&](std::string_view text) {
    const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return str_cat("'", line(a), "' and '", line(b), "'");
}

absl::Status check_alike(std::span<const Graph* const> graphs) {
  const std::string shape = skeleton(*graphs[0]);
  for (const Graph* graph : graphs.subspan(1)) {
    const std::string other = skeleton(*graph);
    if (other != shape)
      return absl::InvalidArgumentError(
          str_cat("other sizes make another graph: ", first_difference(shape, other)));
  }
  return absl::OkStatus();
}

// The numbers of all graphs, in order: each with its value at all points.
template <class Graphs, class Read>
auto numbers_at_points(const Graphs& graphs, const Read& read) {
  using Number = std::decay_t<decltype(read(*graphs[0])[0])>;
  std::vector<std::vector<Number>> all;
  for (const auto& graph : graphs) {
    const std::vector<Number> numbers = read(*graph);
    all.resize(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) all[i].push_back(numbers[i]);
  }
  return all;
}

std::vector<int64_t> sizes_of(const Graph& graph) {
  std::vector<int64_t> sizes;
  for_each_size(const_cast<Graph&>(graph), [&](SymExpr& e) { sizes.push_back(e.as_constant()); });
  return sizes;
}

std::vector<double> doubles_of(const Graph& graph) {
  std::vector<double> doubles;
  for_each_double(const_cast<Graph&>(graph), [&](Node&, ArgumentValue& number) {
    doubles.push_back(std::get<double>(number));
  });
  return doubles;
}

bool is_one(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) {
    return value == values[0] || (std::isnan(value) && std::isnan(values[0]));
  });
}

// c where the value is c / n at all points, for a small c and integers n that differ; else 0.
double numerator_of(const std::vector<double>& values) {
  if (is_one(values)) return 0;
  for (const double c : {1.0, 2.0})
    if (std::all_of(values.begin(), values.end(),
                    [&](double value) { return c / std::round(c / value) == value; }))
      return c;
  return 0;
}

// x * (2 / 7) as x * 2 / 7, where a double has a numerator: autograd's gradient of a variance has
// such a factor, whose divisor counts elements.
Graph with_quotients(const Graph& graph, const std::vector<double>& numerators) {
  size_t position = 0;
  return copy_with(graph, [&](Extract& copy, const Node& node) {
    double numerator = 0;
    for (const Argument& argument : node.args)
      if (std::holds_alternative<double>(argument.value)) numerator = numerators[position++];
    if (numerator == 0 || node.op != "aten::mul.Scalar") return copy.add(node);
    const double divisor = std::round(numerator / std::get<double>(node.args[1].value));
    const Value self = copy.at(std::get<Value>(node.args[0].value));
    const auto call = [&](std::string op, Value of, double other) {
      return copy.graph()
          .add(std::move(op), {{"self", of}, {"other", other}}, node.outputs, node.origin)
          ->output(0);
    };
    copy.put(node.output(0), call("aten::div.Scalar", call(node.op, self, numerator), divisor));
  });
}

bool meets_floating_tensors_alone(const Node& node) {
  for (const Value& input : node.inputs())
    if (!is_floating(input.type().dtype)) return false;
  return !node.inputs().empty();
}

std::optional<Samples> as_integers(const std::vector<double>& values) {
  Samples integers;
  for (double value : values) {
    if (std::trunc(value) != value || std::abs(value) > 1e15) return std::nullopt;
    integers.push_back(static_cast<int64_t>(value));
  }
  return integers;
}

absl::Status generalize(Node& node, ArgumentValue& number, const std::vector<double>& values,
                        SizeFit& fit) {
  if (is_one(values)) return absl::OkStatus();
  const auto integers = as_integers(values);
  if (!integers || !meets_floating_tensors_alone(node))
    return absl::InvalidArgumentError(
        str_cat("a number of ", node.op, " depends on sizes: ", values[0], ", ", values[1]));
  auto fitted = fit.expression(*integers);
  if (!fitted) return absl::OutOfRangeError(str_cat("no expression gives a number of ", node.op));
  number = *std::move(fitted);
  return absl::OkStatus();
}

absl::Status generalize(SymExpr& size, const Samples& values, SizeFit& fit) {
  auto fitted = fit.expression(values);
  if (!fitted)
    return absl::OutOfRangeError(
        str_cat("no expression of the sizes gives ", join(values, [](int64_t v) { return v; })));
  size = *std::move(fitted);
  return absl::OkStatus();
}

}  // namespace

void for_each_size(TensorType& type, const VisitSize& visit) {
  for (SymExpr& e : type.sizes) visit(e);
  for (SymExpr& e : type.strides) visit(e);
}

void for_each_size(Node& node, const VisitSize& visit) {
  for (Argument& argument : node.args) for_each_size(argument.value, visit);
  for (std::optional<TensorType>& type : node.outputs)
    if (type) for_each_size(*type, visit);
}

void for_each_size(Graph& graph, const VisitSize& visit) {
  for (const Value& input : graph.inputs()) for_each_size(*input.node, visit);
  for (const auto& node : graph.nodes()) for_each_size(*node, visit);
}

bool has_symbols(const TensorType& type) {
  const auto is_open = [](const SymExpr& e) { return !e.is_constant(); };
  return std::any_of(type.sizes.begin(), type.sizes.end(), is_open) ||
         std::any_of(type.strides.begin(), type.strides.end(), is_open);
}

bool has_symbols(const Node& node) {
  bool found = false;
  for_each_size(const_cast<Node&>(node), [&](SymExpr& e) { found |= !e.is_constant(); });
  return found;
}

Graph clone(const Graph& graph) {
  return copy_with(graph, [](Extract& copy, const Node& node) { copy.add(node); });
}

Graph substitute(const Graph& graph, const SymbolMap& values) {
  Graph copy = clone(graph);
  for_each_size(copy, [&](SymExpr& e) { e = e.substitute(values); });
  return copy;
}

absl::StatusOr<Graph> generalize(std::span<const Graph* const> at_points, SizeFit& fit) {
  TD_CHECK(at_points.size() == fit.points(), "a graph for each point");
  absl::Status status = check_alike(at_points);
  if (!status.ok()) return status;
  std::vector<double> numerators;
  for (const auto& values : numbers_at_points(at_points, doubles_of))
    numerators.push_back(numerator_of(values));
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const Graph* graph : at_points)
    graphs.push_back(std::make_unique<Graph>(with_quotients(*graph, numerators)));

  const auto sizes = numbers_at_points(graphs, sizes_of);
  const auto doubles = numbers_at_points(graphs, doubles_of);
  Graph& graph = *graphs[0];
  size_t position = 0;
  for_each_size(graph, [&](SymExpr& e) { status.Update(generalize(e, sizes[position++], fit)); });
  position = 0;
  for_each_double(graph, [&](Node& node, ArgumentValue& number) {
    status.Update(generalize(node, number, doubles[position++], fit));
  });
  if (!status.ok()) return status;
  return std::move(graph);
}

}  // namespace aten_bridge
