#include "torchdyn/replay/shrink.h"

#include <algorithm>
#include <optional>
#include <set>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "torchdyn/replay/check.h"
#include "torchdyn/replay/indices.h"
#include "torchdyn/replay/judge.h"
#include "torchdyn/replay/program.h"

namespace replay {
namespace {

using aten_bridge::Argument;
using aten_bridge::ArgumentValue;
using aten_bridge::DType;
using aten_bridge::Graph;
using aten_bridge::Node;
using aten_bridge::str_cat;
using aten_bridge::SymExpr;
using aten_bridge::TensorType;
using aten_bridge::Value;

constexpr size_t kTogether = 12;  // candidates whose kernels are built at once

// One way to make a program smaller; all but one member say "as it is".
struct Edit {
  int result_of = -1;         // return what this step makes instead
  int only_result = -1;       // return this one alone
  int without_result = -1;    // return the others
  int skip = -1;              // a step: its first argument stands for its result
  int cut = -1;               // a step: its results are inputs
  int64_t size = -1;          // wherever it occurs in inputs ...
  int64_t smaller_size = 0;   // ... this
  bool in_arguments = false;  // and in arguments
  std::optional<DType> from, to;
  int plain_input = -1;       // row-major
  int constant_input = -1;    // requires no gradient
  int plain_step = -1;        // with the schema's defaults where there are any ...
  size_t plain_argument = 0;  // ... for this argument
};

// The program again with an edit, as far as its results need it; nothing where eager refuses.
class Replay {
 public:
  Replay(const Graph& program, const Edit& edit)
      : program_(program), edit_(edit), builder_(program.name) {}

  std::optional<Graph> run() {
    try {
      find_needed();
      for (size_t k = 0; k < program_.nodes().size(); ++k)
        if (needed_.contains(program_.nodes()[k].get())) step(static_cast<int>(k));
      std::vector<Value> outputs;
      for (const Value& v : results()) outputs.push_back(value_of(v));
      Graph smaller = builder_.finish(outputs);
      if (!replay::run(eager(smaller), smaller).error.empty()) return std::nullopt;
      return smaller;
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

 private:
  std::vector<Value> results() const {
    if (edit_.result_of >= 0)
      return {program_.nodes()[static_cast<size_t>(edit_.result_of)]->output(0)};
    std::vector<Value> kept;
    for (int i = 0; i < static_cast<int>(program_.outputs().size()); ++i)
      if (i != edit_.without_result && (edit_.only_result < 0 || edit_.only_result == i))
        kept.push_back(*program_.outputs()[static_cast<size_t>(i)]);
    return kept;
  }

  bool mutates(const Node& node) const {
    return aten_bridge::mutates(aten_bridge::find_operator(node.op).schema());
  }

  // Steps that the results need; one in place is needed where its argument is.
  void find_needed() {
    for (const Value& v : results()) needed_.insert(v.node);
    for (bool grows = true; grows;) {
      const size_t before = needed_.size();
      for (size_t k = program_.nodes().size(); k-- > 0;) {
        const Node& node = *program_.nodes()[k];
        const bool changes = mutates(node) && needed_.contains(node.inputs()[0].node);
        if (!needed_.contains(&node) && !changes) continue;
        needed_.insert(&node);
        if (static_cast<int>(k) == edit_.cut) continue;
        for (const Value& v : node.inputs()) needed_.insert(v.node);
      }
      grows = needed_.size() > before;
    }
  }

  Value value_of(const Value& old) {
    if (old.node->is_input() && !values_.contains(old)) values_[old] = input(old);
    return values_.at(old);
  }

  Value input(const Value& old) {
    const int index = input_index(old);
    std::string name = old.node->name;
    TensorType type = old.type();
    const std::vector<SymExpr> strides = type.strides;
    for (SymExpr& size : type.sizes)
      if (size == edit_.size) size = edit_.smaller_size;
    if (index == edit_.plain_input || !(type.sizes == old.type().sizes)) {
      type.strides = aten_bridge::contiguous_strides(type.sizes);
      for (size_t d = 0; index != edit_.plain_input && d < strides.size(); ++d)
        if (strides[d] == 0) type.strides[d] = 0;
    }
    if (edit_.from == type.dtype && name[0] != 'i') type.dtype = *edit_.to;
    if (index == edit_.constant_input) name[0] = 'x';
    if (limits_.contains(old)) name = with_index_limit(name, limits_.at(old));
    return builder_.input(name, type);
  }

  int input_index(const Value& value) const {
    const auto& inputs = program_.inputs();
    return static_cast<int>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin());
  }

  void step(int k) {
    const Node& node = *program_.nodes()[static_cast<size_t>(k)];
    if (k == edit_.cut) return cut(node);
    if (k == edit_.skip) {
      values_[node.output(0)] = value_of(node.inputs()[0]);
      return;
    }
    limit_indices(node);
    std::vector<Argument> args;
    for (size_t a = 0; a < node.args.size(); ++a)
      if (k != edit_.plain_step || a != edit_.plain_argument)
        args.push_back({node.args[a].name, argument(node.args[a].value)});
    const std::vector<Value> made = builder_.call(node.op, std::move(args));
    for (size_t i = 0; i < made.size(); ++i) values_[node.output(static_cast<int>(i))] = made[i];
  }

  // What is indexed may have got smaller: the indices are then drawn anew.
  void limit_indices(const Node& node) {
    for (const IndexUse& use : index_uses(node)) {
      const auto limit = index_limit(use.index.node->name);
      const int64_t size = builder_.tensor(value_of(use.indexed)).size(use.dim);
      if (limit && size < *limit) limits_[use.index] = size;
    }
  }

  // Inputs like the results of a step.
  void cut(const Node& node) {
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
      TensorType type = *node.outputs[static_cast<size_t>(i)];
      const bool overlaps = std::count(type.strides.begin(), type.strides.end(), SymExpr(0)) > 0;
      if (overlaps) type.strides = aten_bridge::contiguous_strides(type.sizes);
      const char kind = !aten_bridge::is_floating(type.dtype) ? 'n' : trains() ? 'w' : 'x';
      values_[node.output(i)] = builder_.input(
          str_cat(std::string(1, kind), 100 + program_.inputs().size() + static_cast<size_t>(i)),
          type);
    }
  }

  bool trains() const {
    const auto& inputs = program_.inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [](const Value& v) { return v.node->name[0] == 'w'; });
  }

  ArgumentValue argument(const ArgumentValue& old) {
    ArgumentValue value = old;
    if (auto* v = std::get_if<Value>(&value)) {
      *v = value_of(*v);
    } else if (auto* list = std::get_if<std::vector<std::optional<Value>>>(&value)) {
      for (auto& v : *list)
        if (v) v = value_of(*v);
    } else if (auto* number = std::get_if<SymExpr>(&value)) {
      if (edit_.in_arguments && *number == edit_.size) *number = edit_.smaller_size;
    } else if (auto* numbers = std::get_if<std::vector<SymExpr>>(&value)) {
      for (SymExpr& n : *numbers)
        if (edit_.in_arguments && n == edit_.size) n = edit_.smaller_size;
    } else if (auto* dtype = std::get_if<DType>(&value)) {
      if (edit_.from == *dtype) *dtype = *edit_.to;
    }
    return value;
  }

  const Graph& program_;
  const Edit& edit_;
  Builder builder_;
  aten_bridge::HashSet<const Node*> needed_;
  aten_bridge::HashMap<Value, Value> values_;
  aten_bridge::HashMap<Value, int64_t> limits_;  // of index inputs
};

// ---- The edits, the boldest first ---------------------------------------------------------------

void fewer_results(const Graph& program, std::vector<Edit>& edits) {
  const int count = static_cast<int>(program.outputs().size());
  for (int k = 0; k + 1 < static_cast<int>(program.nodes().size()); ++k)
    edits.push_back({.result_of = k});
  for (int i = 0; count > 1 && i < count; ++i) edits.push_back({.only_result = i});
  for (int i = 0; count > 2 && i < count; ++i) edits.push_back({.without_result = i});
}

void fewer_steps(const Graph& program, std::vector<Edit>& edits) {
  const int count = static_cast<int>(program.nodes().size());
  for (int k = count; k-- > 0;) edits.push_back({.cut = k});
  for (int k = 0; k < count; ++k)
    if (!program.nodes()[static_cast<size_t>(k)]->inputs().empty()) edits.push_back({.skip = k});
}

void smaller_sizes(const Graph& program, std::vector<Edit>& edits) {
  std::set<int64_t, std::greater<>> sizes;
  for (const Value& input : program.inputs())
    for (const SymExpr& size : input.type().sizes) sizes.insert(size.as_constant());
  for (int64_t size : sizes)
    for (int64_t smaller : std::set<int64_t>{1, 2, 4, 8, size / 2, size - 1})
      if (smaller > 0 && smaller < size)
        for (bool in_arguments : {true, false})
          edits.push_back({.size = size, .smaller_size = smaller, .in_arguments = in_arguments});
}

void plain_types(const Graph& program, std::vector<Edit>& edits) {
  std::set<DType> dtypes;
  for (int i = 0; i < static_cast<int>(program.inputs().size()); ++i) {
    const Value input = program.inputs()[static_cast<size_t>(i)];
    const TensorType& type = input.type();
    dtypes.insert(type.dtype);
    if (type.strides != aten_bridge::contiguous_strides(type.sizes))
      edits.push_back({.plain_input = i});
    if (input.node->name[0] == 'w') edits.push_back({.constant_input = i});
  }
  for (DType dtype : dtypes) {
    if (dtype != DType::kFloat32 && dtype != DType::kBool)
      edits.push_back({.from = dtype, .to = DType::kFloat32});
    if (!aten_bridge::is_floating(dtype) && dtype != DType::kInt64 && dtype != DType::kBool)
      edits.push_back({.from = dtype, .to = DType::kInt64});
  }
}

void plain_arguments(const Graph& program, std::vector<Edit>& edits) {
  for (int k = 0; k < static_cast<int>(program.nodes().size()); ++k) {
    const Node& node = *program.nodes()[static_cast<size_t>(k)];
    const auto& specs = aten_bridge::find_operator(node.op).schema().arguments();
    for (size_t a = 0; a < specs.size(); ++a) {
      if (!specs[a].default_value()) continue;
      const ArgumentValue plain = aten_bridge::to_argument(
          *specs[a].default_value(), specs[a], [](const at::Tensor&) { return ArgumentValue(); });
      if (!(plain == node.args[a].value)) edits.push_back({.plain_step = k, .plain_argument = a});
    }
  }
}

}  // namespace

std::vector<Graph> smaller(const Graph& program) {
  std::vector<Edit> edits;
  fewer_results(program, edits);
  fewer_steps(program, edits);
  smaller_sizes(program, edits);
  plain_types(program, edits);
  plain_arguments(program, edits);
  std::vector<Graph> programs;
  std::set<std::string> seen{print(program)};
  for (const Edit& edit : edits)
    if (auto made = Replay(program, edit).run(); made && seen.insert(print(*made)).second)
      programs.push_back(*std::move(made));
  return programs;
}

Failure shrink(Failure failure, const Check& check, const Progress& progress) {
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    std::vector<Graph> candidates = smaller(failure.program);
    for (size_t from = 0; !shrinks && from < candidates.size(); from += kTogether) {
      std::vector<Graph> some(
          std::make_move_iterator(candidates.begin() + static_cast<ptrdiff_t>(from)),
          std::make_move_iterator(candidates.begin() + static_cast<ptrdiff_t>(std::min(
                                                           candidates.size(), from + kTogether))));
      const std::vector<std::string> problems = check(some);
      for (size_t i = 0; !shrinks && i < some.size(); ++i) {
        if (kind_of(problems[i]) != kind_of(failure.problem)) continue;
        failure = {std::move(some[i]), problems[i]};
        shrinks = true;
        if (progress) progress(failure);
      }
    }
  }
  return failure;
}

std::string report(const Failure& failure) {
  return str_cat("# ", failure.problem, "\n", print(failure.program));
}

}  // namespace replay
