#include "torchdyn/replay/replay.h"

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/options.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/generalize.h"
#include "aten_bridge/graph/partition.h"
#include "aten_bridge/graph/text.h"
#include "inductor/compile.h"
#include "inductor/lowering/lowering.h"
#include "torchdyn/replay/check.h"
#include "torchdyn/replay/indices.h"
#include "torchdyn/replay/shrink.h"

namespace replay {
namespace {

using aten_bridge::Graph;
using aten_bridge::Numerics;
using aten_bridge::str_cat;
using aten_bridge::Symbol;
using aten_bridge::SymbolMap;
using aten_bridge::SymExpr;
using aten_bridge::Value;

std::optional<std::string> read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Repro {
  Graph graph;
  aten_bridge::Options options;
};

Repro repro_of(const std::string& path) {
  const bool is_folder = std::filesystem::is_directory(path);
  const std::string file = is_folder ? path + "/graph.txt" : path;
  const auto text = read(file);
  if (!text) throw std::invalid_argument("there is no graph in " + file);
  auto graph = aten_bridge::parse_graph(*text);
  if (!graph.ok())
    throw std::invalid_argument(str_cat(file, ": ", std::string(graph.status().message())));
  Repro repro{*std::move(graph), {}};
  std::istringstream rows(is_folder ? read(path + "/options.txt").value_or("") : "");
  for (std::string row; rows >> row;) {
    const size_t equals = row.find('=');
    const absl::Status status =
        aten_bridge::set(repro.options, row.substr(0, equals), row.substr(equals + 1));
    if (!status.ok())
      throw std::invalid_argument(path + "/options.txt: " + std::string(status.message()));
  }
  return repro;
}

bool is_tangent(const Value& input) { return input.node->name.starts_with("tangent"); }

// What only these stages see: the compiler a graph for any size, the partitioner a joint graph.
// Empty where they take it.
std::string problem_of_whole(const Graph& graph, Numerics numerics) {
  try {
    if (graph.name == "joint") {
      aten_bridge::Joint joint{aten_bridge::clone(graph)};
      for (const Value& input : graph.inputs())
        ++(is_tangent(input) ? joint.tangents : joint.primals);
      joint.results = static_cast<int>(graph.outputs().size()) - joint.primals;
      aten_bridge::partition(joint, inductor::recompute_of);
    }
    const Graph* graphs[] = {&graph};
    const auto compiled = inductor::compile(graphs, numerics, inductor::OnFault::kReport);
    return compiled.ok() ? ""
                         : str_cat("runs in eager: ", std::string(compiled.status().message()));
  } catch (const aten_bridge::InternalError& error) {
    return str_cat("runs in eager: internal error: ", error.what());
  }
}

// Sizes for symbols: large enough to be no accident, and no two alike.
SymbolMap some_sizes(const Graph& graph) {
  SymbolMap sizes;
  Graph copy = aten_bridge::clone(graph);
  aten_bridge::for_each_size(copy, [&](SymExpr& size) {
    for (Symbol s : size.symbols())
      sizes.try_emplace(s, 8 + 5 * static_cast<int64_t>(sizes.size()));
  });
  return sizes;
}

// Names that say what a program's inputs hold (program.h), and results where there are none.
Graph as_program(Graph graph) {
  if (graph.outputs().empty()) {
    std::vector<std::optional<Value>> all;
    for (const auto& node : graph.nodes())
      for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i)
        if (node->outputs[i]) all.emplace_back(node->output(i));
    graph.set_outputs(std::move(all));
  }
  aten_bridge::HashMap<Value, int64_t> limits;
  for (const auto& node : graph.nodes())
    for (const IndexUse& use : index_uses(*node)) {
      const auto& sizes = use.indexed.type().sizes;
      const int64_t rank = static_cast<int64_t>(sizes.size());
      const int64_t limit = sizes.at((use.dim + rank) % rank).as_constant();
      const auto known = limits.try_emplace(use.index, limit).first;
      known->second = std::min(known->second, limit);
    }
  int number = 0;
  for (const Value& input : graph.inputs()) {
    const bool counts = !aten_bridge::is_floating(input.type().dtype) &&
                        input.type().dtype != aten_bridge::DType::kBool;
    const auto limit = limits.find(input);
    std::string& name = input.node->name;
    name = str_cat(counts ? "n" : "x", number);
    if (counts && limit != limits.end()) name = str_cat("i", number, "_", limit->second);
    ++number;
  }
  return graph;
}

torchdyn::Replayed run_again(const std::string& path, bool shrinks, std::ostream& progress) {
  const Repro repro = repro_of(path);
  const Check check = [&](const std::vector<Graph>& programs) {
    return check_compiled(programs, repro.options.numerics);
  };
  torchdyn::Replayed replayed{problem_of_whole(repro.graph, repro.options.numerics), ""};
  std::vector<Graph> program;
  try {
    program.push_back(as_program(substitute(repro.graph, some_sizes(repro.graph))));
  } catch (const aten_bridge::InternalError& error) {
    throw std::invalid_argument(str_cat(path, " holds no graph of operators: ", error.what()));
  }
  const std::string problem = check(program)[0];
  if (problem.empty()) return replayed;
  replayed.problem = problem;
  if (!shrinks) return replayed;
  const Failure smallest =
      shrink({std::move(program[0]), problem}, check, [&](const Failure& smaller) {
        progress << smaller.program.nodes().size() << " operators: " << smaller.problem << "\n";
        progress.flush();
      });
  return {smallest.problem, print(smallest.program)};
}

}  // namespace
}  // namespace replay

namespace torchdyn {

Replayed replay(const std::string& path, bool shrink, std::ostream& progress) {
  return ::replay::run_again(path, shrink, progress);
}

}  // namespace torchdyn
