#include "torchdyn/package/save.h"

#include <algorithm>
#include <map>
#include <set>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
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
#include "torchdyn/package/optimizer_step.h"
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
  explicit Saver(Numerics numerics) : numerics_(numerics) {}

  // The method that variants are added to from now on.
  void begin(const std::string& method, const std::string& structure) {
    if (find_method(manifest_, method)) throw PackageError("two methods named " + method);
    manifest_.methods.push_back({method, structure, {}});
  }

  void add(const VariantToSave& saved) {
    const Variant& variant = *saved.variant;
    if (variant.sizes && !variant.sizes->sizes().numbers.empty())
      throw PackageError("sizes that vary with a number among the arguments are not kept");
    const Captured& captured = variant.program->captured();
    PackagedVariant v;
    v.name = std::to_string(variants_++);
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
    manifest_.methods.back().variants.push_back(std::move(v));
  }

  // A method of its own, and zeros for what it keeps.
  void add_optimizer(const std::string& text) {
    const OptimizerStep step(text);
    std::vector<StepKind> kinds;
    for (const auto& [name, tensor] : trained_) {
      const StepKind kind(tensor.scalar_type(), tensor.device());
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    if (kinds.empty()) throw PackageError("there are no parameters that are trained");
    begin(std::string(kStepMethod), "");
    for (const auto& call : step.compile(kinds))
      add({&call->variant(), std::vector<at::Tensor>(call->tensor_count()), {}});
    manifest_.optimizer = PackagedOptimizer{step.text(), step.state()};
    keep(optimizer_state_.add("step", at::scalar_tensor(0, at::kFloat)));
    keep(optimizer_state_.add("lr", at::scalar_tensor(step.learning_rate(), at::kDouble)));
    for (const auto& [name, tensor] : trained_)
      for (const std::string& state : step.state())
        keep(optimizer_state_.add(str_cat(state, "/", name),
                                  at::zeros_like(tensor, tensor.options().device(at::kCPU))));
  }

  void write(const std::string& path, const std::vector<std::string>& targets) {
    std::vector<const Graph*> graphs;
    for (const NamedGraph& g : compiled_) graphs.push_back(&g.graph);
    auto ahead = inductor::compile_ahead(graphs, numerics_, targets);
    if (!ahead.ok()) throw PackageError(std::string(ahead.status().message()));
    manifest_.producer = str_cat("torchdyn ", TORCHDYN_VERSION);
    manifest_.torch = TORCH_VERSION;
    manifest_.targets = ahead->targets;
    for (const std::string& binary : ahead->binaries)
      manifest_.calls_sleef |= binary.find("Sleef_") != std::string::npos;

    std::vector<std::pair<std::string, std::string>> texts;
    for (size_t i = 0; i < compiled_.size(); ++i)
      texts.emplace_back(compiled_[i].section + ".plan", print(ahead->plans[i]));
    texts.insert(texts.end(), graph_texts_.begin(), graph_texts_.end());
    auto weights = weights_.section();
    if (!weights.ok()) throw PackageError(std::string(weights.status().message()));

    const std::string manifest = to_json(manifest_);
    std::vector<SectionToWrite> sections = {{"manifest.json", {manifest}}};
    for (const auto& [name, text] : texts) sections.push_back({name, {text}});
    for (size_t i = 0; i < ahead->binaries.size(); ++i)
      sections.push_back({kernels_section(ahead->targets[i]), {ahead->binaries[i]}});
    sections.push_back({"weights.safetensors", *weights});
    auto state = optimizer_state_.section();
    if (!state.ok()) throw PackageError(std::string(state.status().message()));
    if (manifest_.optimizer) sections.push_back({"optimizer.safetensors", *state});
    const absl::Status written = write_container(path, sections);
    if (!written.ok()) throw PackageError(std::string(written.message()));
  }

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
    if (weights_.has_another(input.name, tensor))  // of a method before
      input.name = str_cat(manifest_.methods.back().name, "/", input.name);
    keep(weights_.add(input.name, tensor));
    if (input.requires_grad) trained_.emplace(input.name, tensor);
  }

  static void keep(const aten_bridge::Verdict& kept) {
    if (!kept) throw PackageError(kept.reason());
  }

  const Numerics numerics_;
  Manifest manifest_;
  std::vector<NamedGraph> compiled_;
  std::vector<std::pair<std::string, std::string>> graph_texts_;  // by section
  StoredWeights weights_, optimizer_state_;
  std::map<std::string, at::Tensor> trained_;  // weights, by name
  int variants_ = 0;
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

void save_methods(const std::vector<MethodToSave>& methods, Numerics numerics,
                  const SaveOptions& options, const std::string& path) {
  const aten_bridge::HoldOffExit hold;
  Saver saver(numerics);
  for (const MethodToSave& method : methods) {
    saver.begin(method.name, method.structure);
    std::string reason = "it was not called yet";
    bool has_any = false;
    for (const VariantToSave& saved : method.variants) {
      if (saved.variant->eager_reason.empty())
        saver.add(saved);
      else
        reason = "its calls run in eager: " + saved.variant->eager_reason;
      has_any |= saved.variant->eager_reason.empty();
    }
    if (!has_any) throw PackageError("nothing to save: " + reason);
  }
  if (!options.optimizer.empty()) saver.add_optimizer(options.optimizer);
  saver.write(path, options.targets);
}

void save(const std::vector<Method>& methods, const std::string& path, const SaveOptions& options) {
  if (methods.empty()) throw PackageError("nothing to save: there is no method");
  std::vector<MethodToSave> to_save;
  for (const Method& method : methods) {
    if (method.engine->numerics() != methods[0].engine->numerics())
      throw PackageError("methods of one package have one option `numerics`");
    to_save.push_back({method.name, "", method.engine->variants_to_save()});
  }
  save_methods(to_save, methods[0].engine->numerics(), options, path);
}

}  // namespace torchdyn
