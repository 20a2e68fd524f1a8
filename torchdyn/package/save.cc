#include "torchdyn/package/save.h"

#include <algorithm>
#include <set>

#include <torch/nn/module.h>
#include <torch/version.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/process_exit.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/convert.h"
#include "inductor/compile.h"
#include "torchdyn/package.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/results.h"
#include "torchdyn/package/stored_weights.h"
#include "torchdyn/variant.h"

namespace torchdyn {
namespace {

using aten_bridge::Captured;
using aten_bridge::Graph;
using aten_bridge::str_cat;

#define GLOBAL_GUARD(...) +1
constexpr int kGlobalGuards = 0
#include "aten_bridge/guards/guard_kinds.def"
    ;

struct NamedGraph {
  std::string section;  // without what it is: "0/forward"
  Graph graph;
};

// One tensor an input; undefined for those that a call gives.
std::vector<at::Tensor> tensors_of_inputs(const VariantToSave& saved) {
  std::vector<at::Tensor> inputs;
  for (int tensor : saved.variant->duplicates.tensor_of) inputs.push_back(saved.tensors[tensor]);
  const auto& constants = saved.variant->program->captured().constants;
  inputs.insert(inputs.end(), constants.begin(), constants.end());
  return inputs;
}

// Which of a call's tensors an input is, where a call gives it; -1 for those of the package.
std::vector<int> given_inputs(const VariantToSave& saved, size_t inputs) {
  std::vector<int> given(inputs, -1), members(inputs);
  const auto& input_of = saved.variant->duplicates.input_of;
  for (size_t t = 0; t < input_of.size(); ++t) {
    ++members[input_of[t]];
    if (!saved.tensors[t].defined()) given[input_of[t]] = static_cast<int>(t);
  }
  for (size_t i = 0; i < inputs; ++i)
    if (given[i] >= 0 && members[i] > 1)
      throw PackageError(
          str_cat("tensor ", given[i], " among the arguments was the same as another input"));
  return given;
}

Graph parsed(const std::string& text) {
  auto graph = aten_bridge::parse_graph(text);
  TD_CHECK(graph.ok(), std::string(graph.status().message()), "\n", text);
  return *std::move(graph);
}

// Those that are not of one input: the manifest has these.
std::vector<std::string> guards_of(const Variant& variant) {
  std::vector<std::string> lines = variant.host.describe();
  const std::vector<std::string> all = variant.inputs->describe();
  lines.insert(lines.end(), all.begin(), all.begin() + kGlobalGuards);
  return lines;
}

// A mutated weight whose memory is another one's, too, would be two in the package.
void check_memory(const PackagedVariant& variant, const std::vector<at::Tensor>& tensors) {
  const bool is_written = variant.trains || !variant.mutations.empty();
  std::set<const void*> storages;
  for (const at::Tensor& t : tensors)
    if (is_written && t.defined() && t.has_storage() && t.nbytes() > 0 &&
        !storages.insert(t.storage().unsafeGetStorageImpl()).second)
      throw PackageError("two weights share memory, and one of them may be written");
}

class Saver {
 public:
  Saver(Numerics numerics, const std::string& structure) : numerics_(numerics) {
    manifest_.structure = structure;
  }

  void add(const VariantToSave& saved) {
    const Variant& variant = *saved.variant;
    if (variant.sizes && !variant.sizes->sizes().numbers.empty())
      throw PackageError("sizes that vary with a number among the arguments are not kept");
    const Captured& captured = variant.program->captured();
    PackagedVariant v;
    v.name = std::to_string(manifest_.variants.size());
    v.trains = captured.joint.tangents > 0;
    v.grad_mode = variant.grad_mode;
    if (variant.sizes) v.symbols = static_cast<int>(variant.sizes->sizes().samples[0].size());
    v.graph_results = captured.joint.results;
    for (const auto& r : captured.results) v.results.push_back(to_manifest(r));
    for (const auto& m : captured.mutations) v.mutations.emplace_back(m.input, m.result);
    for (const auto& a : captured.assumptions)
      if (a.number) v.assumptions.push_back({a.result, *a.number, a.raises});
    v.draws = captured.draws;
    v.guards = guards_of(variant);
    add_training(*variant.program, v);
    add_graphs(variant, v);
    add_inputs(saved, v);
    manifest_.variants.push_back(std::move(v));
  }

  void write(const std::string& path) {
    std::vector<const Graph*> graphs;
    for (const NamedGraph& g : compiled_) graphs.push_back(&g.graph);
    auto ahead = inductor::compile_ahead(graphs, numerics_);
    if (!ahead.ok()) throw PackageError(std::string(ahead.status().message()));
    manifest_.producer = str_cat("torchdyn ", TORCHDYN_VERSION);
    manifest_.torch = TORCH_VERSION;
    manifest_.target = ahead->target;
    manifest_.calls_sleef = ahead->binary.find("Sleef_") != std::string::npos;

    std::vector<std::pair<std::string, std::string>> texts;
    for (size_t i = 0; i < compiled_.size(); ++i)
      texts.emplace_back(compiled_[i].section + ".plan", print(ahead->plans[i]));
    texts.insert(texts.end(), graph_texts_.begin(), graph_texts_.end());
    auto weights = weights_.section();
    if (!weights.ok()) throw PackageError(std::string(weights.status().message()));

    const std::string manifest = to_json(manifest_);
    std::vector<SectionToWrite> sections = {{"manifest.json", {manifest}}};
    for (const auto& [name, text] : texts) sections.push_back({name, {text}});
    if (!ahead->binary.empty())
      sections.push_back({kernels_section(ahead->target), {ahead->binary}});
    sections.push_back({"weights.safetensors", *weights});
    const absl::Status written = write_container(path, sections);
    if (!written.ok()) throw PackageError(std::string(written.message()));
  }

  bool has_any() const { return !manifest_.variants.empty(); }

 private:
  void add_training(const Program& program, PackagedVariant& v) const {
    if (!v.trains) return;
    const Captured& captured = program.captured();
    v.tangents = captured.joint.tangents;
    v.differentiable = captured.differentiable;
    for (const auto& s : program.saved()) v.saved.emplace_back(s.primal, s.result);
    v.given = program.given();
  }

  void add_graphs(const Variant& variant, PackagedVariant& v) {
    const auto& graphs = variant.explanation.graphs;
    const std::string_view names[] = {"forward", "backward"};
    std::set<std::string> calls;
    for (size_t g = 0; g < graphs.size(); ++g) {
      compiled_.push_back({str_cat(v.name, "/", names[g]), parsed(graphs[g].text)});
      graph_texts_.emplace_back(section_name(v, names[g], "graph"), graphs[g].text);
      calls.insert(graphs[g].extern_calls.begin(), graphs[g].extern_calls.end());
    }
    v.extern_calls.assign(calls.begin(), calls.end());
    if (v.trains)
      graph_texts_.emplace_back(section_name(v, "joint", "graph"),
                                print(variant.program->captured().joint.graph));
  }

  void add_inputs(const VariantToSave& saved, PackagedVariant& v) {
    const Variant& variant = *saved.variant;
    const std::vector<at::Tensor> tensors = tensors_of_inputs(saved);
    if (!variant.frozen.hold(tensors))
      throw PackageError("a frozen weight has changed since it was compiled; call it once more");
    const std::vector<int> given = given_inputs(saved, tensors.size());
    check_memory(v, tensors);
    const Graph& forward = compiled_[compiled_.size() - (v.trains ? 2 : 1)].graph;
    TD_CHECK(forward.inputs().size() == tensors.size(), "one tensor an input");
    for (size_t i = 0; i < tensors.size(); ++i) {
      PackagedInput input;
      input.name = forward.inputs()[i].node->name;
      input.type = forward.inputs()[i].type();
      if (given[i] >= 0) {
        input.argument = v.arguments++;
        input.requires_grad = variant.argument_requires_grad[given[i]];
      } else {
        const auto& tensor_of = variant.duplicates.tensor_of;
        if (i >= tensor_of.size())
          input.name = str_cat(v.name, "/", input.name);  // a constant
        else if (!saved.names.empty())
          input.name = saved.names[tensor_of[i]];
        add_weight(input, tensors[i]);
      }
      v.inputs.push_back(std::move(input));
    }
  }

  void add_weight(PackagedInput& input, const at::Tensor& tensor) {
    if (aten_bridge::type_of(tensor) != input.type)
      throw PackageError(str_cat("weight ", input.name, " was ", print(input.type),
                                 " when it was compiled, and is ",
                                 print(aten_bridge::type_of(tensor))));
    input.requires_grad = tensor.requires_grad();
    if (auto kept = weights_.add(input.name, tensor); !kept) throw PackageError(kept.reason());
  }

  const Numerics numerics_;
  Manifest manifest_;
  std::vector<NamedGraph> compiled_;
  std::vector<std::pair<std::string, std::string>> graph_texts_;  // by section
  StoredWeights weights_;
};

}  // namespace

VariantToSave with_state(const Variant& variant, const Options& options) {
  VariantToSave saved{&variant, {}, {}};
  ModuleState state;
  const auto modules = variant.host.modules();
  for (const auto& module : modules) state.add_alone(*module);
  saved.tensors.resize(variant.argument_requires_grad.size());
  saved.tensors.insert(saved.tensors.end(), state.tensors.begin(), state.tensors.end());
  for (const State& s : options.state)
    if (s.tensor.defined()) saved.tensors.push_back(s.tensor);
  if (saved.tensors.size() != variant.duplicates.input_of.size())
    throw PackageError("a module that it was compiled with is gone, or has other tensors now");
  if (options.state.size() == 1 && options.state[0].module) {  // they have the module's own names
    saved.names.resize(saved.tensors.size());
    const auto names = state_names(*options.state[0].module, "");
    for (size_t n = 0; n < std::min(names.size(), saved.names.size()); ++n)
      saved.names[saved.names.size() - names.size() + n] = names[n].substr(1);
  }
  return saved;
}

void save_variants(const std::vector<VariantToSave>& variants, Numerics numerics,
                   const std::string& structure, const std::string& path) {
  const aten_bridge::HoldOffExit hold;
  Saver saver(numerics, structure);
  std::string reason = "it was not called yet";
  for (const VariantToSave& saved : variants) {
    if (saved.variant->eager_reason.empty())
      saver.add(saved);
    else
      reason = "its calls run in eager: " + saved.variant->eager_reason;
  }
  if (!saver.has_any()) throw PackageError("nothing to save: " + reason);
  saver.write(path);
}

}  // namespace torchdyn
