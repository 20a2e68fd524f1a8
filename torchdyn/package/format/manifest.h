// What a package says of itself: inputs and outputs, guards, what its sections mean. JSON in the
// section manifest.json; README.md lists the members.
//   std::string text = to_json(manifest);
//   absl::StatusOr<Manifest> read = parse_manifest(text);     // survives any text
//   if (auto fits = check_input(variant.inputs[0], given); !fits) say(fits.reason());
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "aten_bridge/base/verdict.h"
#include "aten_bridge/graph/graph.h"

namespace torchdyn {

// Of what manifests say. A reader takes those of its own number; members it does not know say
// nothing that it must know.
inline constexpr int kManifestVersion = 1;

using aten_bridge::SymExpr;
using aten_bridge::TensorType;
using aten_bridge::Verdict;

// One input of a variant's graphs: an argument of the call, or a tensor of the package.
struct PackagedInput {
  std::string name;             // "arg0", "fc.weight"
  TensorType type;              // strides, too
  std::optional<int> argument;  // its place in a call; none: the tensor `name` of `weights`
  bool requires_grad = false;
};

// Where one result comes from, as aten_bridge::ResultSource.
struct PackagedResult {
  std::string kind;  // "undefined", "graph", "input", "view_of_input", "view_of_graph"
  int index = -1;    // of the graph's result, of the input
  std::vector<SymExpr> sizes, strides;  // of views
  SymExpr offset;
  bool detached = false;
};

using PackagedNumber = std::variant<bool, int64_t, double, std::complex<double>>;

// What must be true of a graph's result that nobody returns; eager raises otherwise, or the package
// is for other values.
struct PackagedAssumption {
  int result = -1;
  PackagedNumber number;
  bool raises = false;
};

// One captured form of the function. Its graphs and plans are sections "NAME/forward.graph",
// "NAME/forward.plan" and, where it trains, the same of "backward" and "NAME/joint.graph".
struct PackagedVariant {
  std::string name;                   // "0"
  bool trains = false;                // has a backward; forward then returns what it saves, too
  bool grad_mode = false;             // in which it was captured
  int symbols = 0;                    // s0, s1, ...: sizes that a call's arguments tell
  int arguments = 0;                  // tensors that a call gives
  std::vector<PackagedInput> inputs;  // one a primal
  std::vector<PackagedResult> results;
  int graph_results = 0;                       // the first of the forward graph's outputs
  std::vector<std::pair<int, int>> mutations;  // input, and the graph's result that it becomes
  std::vector<PackagedAssumption> assumptions;
  bool draws = false;  // random numbers
  // Training alone, one a graph result, one a saved value (-1 or a primal, -1 or a graph's result),
  // one a tangent.
  std::vector<bool> differentiable;
  std::vector<std::pair<int, int>> saved;
  std::vector<bool> given;
  int tangents = 0;
  std::vector<std::string> extern_calls;  // operators of LibTorch that it calls; none: none needed
  std::vector<std::string> guards;        // what else was true at capture, in words
};

// One of several functions in a package; their weights and kernels are the package's.
struct PackagedMethod {
  std::string name;       // "encode"
  std::string structure;  // of arguments and results, in the terms of whoever saved it
  std::vector<PackagedVariant> variants;
};

// The method that a call without a name is of.
inline constexpr std::string_view kMainMethod = "forward";

// The optimizer of a package that brings its own: its step is the method `step`, of a piece of a
// parameter, its gradient, its states, all f[s0], the step's number (f32[], 1 at first) and the
// learning rate (f64[]); it changes the parameter and the states.
struct PackagedOptimizer {
  std::string text;                // "adamw lr=0.001 weight_decay=0.1"
  std::vector<std::string> state;  // names, "exp_avg"; a parameter's is "exp_avg/fc.weight"
};

inline constexpr std::string_view kStepMethod = "step";

struct Manifest {
  std::string producer;  // "torchdyn 0.1.0"
  std::string torch;     // LibTorch's version, whose operators extern calls name
  // What binaries run on, a section each, the best one first: "x86-64-v3", "x86-64".
  std::vector<std::string> targets;
  bool calls_sleef = false;             // kernels call it, in libtorch_cpu or elsewhere
  std::vector<PackagedMethod> methods;  // names differ
  std::optional<PackagedOptimizer> optimizer;
};

std::string to_json(const Manifest& manifest);
// InvalidArgument, naming the member. Indices are inside their lists.
absl::StatusOr<Manifest> parse_manifest(std::string_view text);

// Null where there is none of that name.
const PackagedMethod* find_method(const Manifest& manifest, std::string_view name);
// "the package has no method decode; it has forward, encode"
std::string no_method(const Manifest& manifest, std::string_view name);

// Of the binary for a target: "kernels/x86-64-v3".
std::string kernels_section(std::string_view target);

// The name of a section of a variant: "0/forward.plan".
std::string section_name(const PackagedVariant& variant, std::string_view graph,
                         std::string_view what);

// Whether a tensor may be given as an input whose sizes are numbers: "input 0 (arg0): expected
// f32[2, 3], given f32[2, 4]". Strides of dimensions with one element say nothing.
Verdict check_input(const PackagedInput& input, const TensorType& given);

// Whether a call's arguments, of these types, are what a variant takes; then `symbols` gets the
// values of s0, s1, ..., each 2 or more.
Verdict check_arguments(const PackagedVariant& v, const std::vector<TensorType>& given,
                        std::vector<int64_t>& symbols);

// A type with symbols, at their values.
TensorType at_sizes(TensorType type, const std::vector<int64_t>& symbols);
std::vector<SymExpr> at_sizes(std::vector<SymExpr> exprs, const std::vector<int64_t>& symbols);
SymExpr at_sizes(const SymExpr& e, const std::vector<int64_t>& symbols);

}  // namespace torchdyn
