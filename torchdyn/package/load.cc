#include <algorithm>
#include <map>
#include <set>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/convert.h"
#include "inductor/backend/cpu/processor.h"
#include "inductor/backend/cpu/shared_object.h"
#include "inductor/runtime/aten/run.h"
#include "torchdyn/package.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"
#include "torchdyn/package/format/safetensors.h"
#include "torchdyn/package/results.h"
#include "torchdyn/package/stored_weights.h"
#include "torchdyn/program.h"

namespace torchdyn {
namespace {

using aten_bridge::Captured;
using aten_bridge::str_cat;
using inductor::CompiledGraph;
using inductor::KernelPlan;
using inductor::Launch;

template <class T>
T value_of(absl::StatusOr<T> value, std::string_view what) {
  if (value.ok()) return *std::move(value);
  throw PackageError(str_cat(what, ": ", std::string(value.status().message())));
}

struct LoadedVariant {
  PackagedVariant described;
  std::vector<at::Tensor> weights;  // one an input; undefined for arguments
  std::unique_ptr<const Program> program;
};

std::vector<int64_t> constants(const std::vector<SymExpr>& exprs) {
  std::vector<int64_t> values;
  for (const SymExpr& e : exprs) values.push_back(e.as_constant());
  return values;
}

std::vector<std::string> kernels_of(const KernelPlan& plan) {
  std::vector<std::string> names;
  for (const auto& step : plan.steps)
    if (auto* launch = std::get_if<Launch>(&step)) names.push_back(launch->kernel);
  return names;
}

}  // namespace

struct Package::Impl {
  std::string manifest;
  std::vector<LoadedVariant> variants;
  std::vector<std::pair<std::string, at::Tensor>> weights;  // by name
};

namespace {

class Loader {
 public:
  explicit Loader(const std::string& path)
      : path_(path),
        file_(value_of(MappedFile::open(path), "torchdyn::load")),
        container_(value_of(Container::parse(file_->bytes()), path)) {}

  std::shared_ptr<const Package::Impl> load() {
    auto impl = std::make_shared<Package::Impl>();
    impl->manifest = section("manifest.json");
    Manifest manifest = value_of(parse_manifest(impl->manifest), path_);
    if (!inductor::runs_here(manifest.target))
      throw PackageError(str_cat(path_, ": its kernels are for ", manifest.target,
                                 ", which this processor is not"));
    read_weights();
    for (const PackagedVariant& variant : manifest.variants) {
      read_plan(variant, "forward");
      if (variant.trains) read_plan(variant, "backward");
    }
    load_kernels();
    for (PackagedVariant& variant : manifest.variants)
      impl->variants.push_back(load_variant(std::move(variant)));
    impl->weights = std::move(weights_in_order_);
    return impl;
  }

 private:
  std::string_view section(std::string_view name) const {
    return value_of(container_.checked_bytes(name), path_);
  }

  void read_weights() {
    const auto bytes = value_of(container_.bytes("weights.safetensors"), path_);
    for (StoredTensor& tensor : value_of(parse_safetensors(bytes), path_))
      stored_.emplace(tensor.name, tensor);
  }

  LoadedVariant load_variant(PackagedVariant v) {
    LoadedVariant loaded;
    for (const PackagedInput& input : v.inputs)
      loaded.weights.push_back(input.argument ? at::Tensor() : weight(input));
    std::vector<std::shared_ptr<const CompiledGraph>> graphs = {compiled(v, "forward")};
    if (v.trains) graphs.push_back(compiled(v, "backward"));
    check_shapes(v, graphs);
    std::vector<aten_bridge::SavedValue> saved;
    for (auto [primal, result] : v.saved) saved.push_back({primal, result});
    // Nothing is compiled: a tangent that was not expected is served by the joint graph.
    OtherBackward other{v.given, nullptr};
    if (std::find(v.given.begin(), v.given.end(), false) != v.given.end())
      other.of_all = [] { return std::shared_ptr<const CompiledGraph>(); };
    loaded.program = std::make_unique<const Program>(
        captured(v), std::move(saved), std::vector<SymExpr>(), graphs, std::move(other),
        /*has_symbols=*/false, /*replays=*/false, [](const aten_bridge::InternalError&) {});
    loaded.described = std::move(v);
    return loaded;
  }

  // A tensor over the mapped file; one and the same for every variant.
  at::Tensor weight(const PackagedInput& input) {
    if (auto known = weights_.find(input.name); known != weights_.end()) return known->second;
    const auto found = stored_.find(input.name);
    if (found == stored_.end()) throw PackageError(str_cat(path_, ": no weight ", input.name));
    const StoredTensor& stored = found->second;
    const std::vector<int64_t> sizes = constants(input.type.sizes);
    const std::vector<int64_t> strides = constants(input.type.strides);
    std::vector<int64_t> ordered;
    for (int64_t d : order_of_strides(sizes, strides)) ordered.push_back(sizes[d]);
    const bool has_its_bytes =
        inductor::span_bytes(input.type) == static_cast<int64_t>(stored.bytes.size());
    if (stored.dtype != input.type.dtype || stored.sizes != ordered || !has_its_bytes)
      throw PackageError(str_cat(path_, ": weight ", input.name, " is not ", print(input.type)));
    at::Tensor tensor = at::from_blob(
        const_cast<char*>(stored.bytes.data()), sizes, strides, [file = file_](void*) {},
        aten_bridge::to_scalar_type(stored.dtype));
    if (input.requires_grad) tensor.requires_grad_(true);
    weights_.emplace(input.name, tensor);
    weights_in_order_.emplace_back(input.name, tensor);
    return tensor;
  }

  void read_plan(const PackagedVariant& v, std::string_view graph) {
    const std::string name = section_name(v, graph, "plan");
    KernelPlan plan = value_of(inductor::parse_plan(section(name)), name);
    const absl::Status valid = inductor::verify(plan);
    if (!valid.ok()) throw PackageError(str_cat(name, ": ", std::string(valid.message())));
    plans_.emplace(name, std::move(plan));
  }

  // One library has the kernels of all plans.
  void load_kernels() {
    std::set<std::string> unique;
    for (const auto& [name, plan] : plans_)
      for (std::string& kernel : kernels_of(plan)) unique.insert(std::move(kernel));
    if (unique.empty()) return;
    const std::vector<std::string> names(unique.begin(), unique.end());
    const auto launchers =
        value_of(inductor::load_shared_object_bytes(section("kernels/cpu.so"), names), path_);
    for (size_t i = 0; i < names.size(); ++i) kernels_.emplace(names[i], launchers[i]);
  }

  std::shared_ptr<const CompiledGraph> compiled(const PackagedVariant& v, std::string_view graph) {
    const std::string name = section_name(v, graph, "plan");
    auto compiled = std::make_shared<CompiledGraph>();
    compiled->plan = std::move(plans_.at(name));
    for (const std::string& kernel : kernels_of(compiled->plan))
      compiled->launchers.push_back(kernels_.at(kernel));
    compiled->linked = value_of(inductor::link(compiled->plan), name);
    return compiled;
  }

  // What Program relies on, beyond what the manifest's reader checks.
  void check_shapes(const PackagedVariant& v,
                    const std::vector<std::shared_ptr<const CompiledGraph>>& graphs) const {
    const KernelPlan& forward = graphs[0]->plan;
    bool fits = forward.inputs.size() == v.inputs.size() &&
                forward.outputs.size() >= static_cast<size_t>(v.graph_results);
    for (size_t i = 0; fits && i < v.inputs.size(); ++i)
      fits = forward.buffers[forward.inputs[i]].type == v.inputs[i].type;
    for (auto [primal, result] : v.saved)
      fits = fits && (primal >= 0) != (result >= 0) &&
             result < static_cast<int>(forward.outputs.size());
    if (!fits) throw PackageError(str_cat(path_, ": variant ", v.name, " is not as its plan"));
  }

  Captured captured(const PackagedVariant& v) const {
    Captured captured;
    captured.joint.primals = static_cast<int>(v.inputs.size());
    captured.joint.results = v.graph_results;
    captured.joint.tangents = v.tangents;
    if (v.trains) {
      const std::string name = section_name(v, "joint", "graph");
      captured.joint.graph = value_of(aten_bridge::parse_graph(section(name)), name);
      if (captured.joint.graph.inputs().size() != v.inputs.size() + v.tangents ||
          captured.joint.graph.outputs().size() != v.graph_results + v.inputs.size())
        throw PackageError(str_cat(name, " is not as the manifest says"));
    }
    for (const PackagedResult& r : v.results) captured.results.push_back(from_manifest(r));
    for (auto [input, result] : v.mutations) captured.mutations.push_back({input, result});
    for (const PackagedAssumption& a : v.assumptions)
      captured.assumptions.push_back({a.result, a.number, a.raises});
    captured.draws = v.draws;
    captured.differentiable = v.differentiable;
    return captured;
  }

  const std::string path_;
  const std::shared_ptr<const MappedFile> file_;
  const Container container_;
  aten_bridge::HashMap<std::string, StoredTensor> stored_;
  aten_bridge::HashMap<std::string, at::Tensor> weights_;
  std::vector<std::pair<std::string, at::Tensor>> weights_in_order_;
  std::map<std::string, KernelPlan> plans_;  // by section
  std::map<std::string, inductor::Launcher> kernels_;
};

// ---- Calls
// ----------------------------------------------------------------------------------------

Verdict is_plain(const at::Tensor& t, int argument) {
  if (!t.defined()) return Verdict::no(str_cat("input ", argument, " is undefined"));
  if (t.layout() == c10::kStrided && !t.is_conj() && !t.is_neg() && t.has_storage())
    return Verdict::yes();
  return Verdict::no(str_cat("input ", argument, " is no plain tensor"));
}

// A call that changes an input reads no other one's memory for it.
Verdict are_apart(const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (inputs[i].is_alias_of(inputs[j]))
        return Verdict::no("inputs share memory, and the function changes one");
  return Verdict::yes();
}

// Whether a variant takes the arguments; then `inputs` are its graph's.
Verdict takes(const LoadedVariant& variant, const std::vector<at::Tensor>& arguments,
              std::vector<at::Tensor>& inputs) {
  const PackagedVariant& v = variant.described;
  if (arguments.size() != static_cast<size_t>(v.arguments))
    return Verdict::no(str_cat("expected ", v.arguments, " tensors, given ", arguments.size()));
  inputs = variant.weights;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PackagedInput& input = v.inputs[i];
    if (!input.argument) continue;
    const at::Tensor& t = arguments[*input.argument];
    if (auto plain = is_plain(t, *input.argument); !plain) return plain;
    if (auto fits = check_input(input, aten_bridge::type_of(t)); !fits) return fits;
    const bool loses_gradient = c10::GradMode::is_enabled() && t.requires_grad();
    if (loses_gradient && !(v.trains && input.requires_grad))
      return Verdict::no(str_cat("input ", *input.argument, " (", input.name,
                                 ") requires a gradient, and did not when it was saved"));
    inputs[i] = t;
  }
  return v.mutations.empty() ? Verdict::yes() : are_apart(inputs);
}

}  // namespace

std::vector<at::Tensor> Package::operator()(const std::vector<at::Tensor>& arguments) const {
  std::string reason = "the package is empty";
  // Those that were captured with gradients on, or off, as they are now, come first.
  for (const bool as_now : {true, false}) {
    for (const LoadedVariant& variant : impl_->variants) {
      if ((variant.described.grad_mode == c10::GradMode::is_enabled()) != as_now) continue;
      std::vector<at::Tensor> inputs;
      if (auto fits = takes(variant, arguments, inputs); !fits) {
        if (as_now || reason == "the package is empty") reason = fits.reason();
        continue;
      }
      try {
        return variant.program->run({}, inputs).tensors;
      } catch (const aten_bridge::EagerRaises& error) {
        throw PackageError(error.what());
      } catch (const aten_bridge::AssumptionFailed& error) {
        reason = error.what();
      }
    }
  }
  throw PackageError(reason);
}

const std::vector<std::pair<std::string, at::Tensor>>& Package::weights() const {
  return impl_->weights;
}

std::vector<at::Tensor> Package::parameters() const {
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : impl_->weights)
    if (tensor.requires_grad()) parameters.push_back(tensor);
  return parameters;
}

std::string Package::manifest() const { return impl_->manifest; }

Package load(const std::string& path) {
  try {
    return Package(Loader(path).load());
  } catch (const aten_bridge::InternalError& error) {  // a text that breaks a law
    throw PackageError(str_cat(path, ": ", error.what()));
  }
}

}  // namespace torchdyn
