#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/convert.h"
#include "inductor/runtime/aten/run.h"
#include "torchdyn/package/loaded_package.h"
#include "torchdyn/package/results.h"

namespace torchdyn {
namespace {

using aten_bridge::Captured;
using aten_bridge::str_cat;
using inductor::CompiledGraph;

template <class T>
T value_of(absl::StatusOr<T> value, std::string_view what) {
  if (value.ok()) return *std::move(value);
  throw PackageError(str_cat(what, ": ", std::string(value.status().message())));
}

std::vector<int64_t> constants(const std::vector<SymExpr>& exprs) {
  std::vector<int64_t> values;
  for (const SymExpr& e : exprs) values.push_back(e.as_constant());
  return values;
}

class Loader {
 public:
  Loader(const std::string& path, const LoadOptions& options)
      : path_(path),
        file_(value_of(PackageFile::open(path, options.public_key), "torchdyn::load")) {}

  std::shared_ptr<const Package::Impl> load() {
    auto impl = std::make_shared<Package::Impl>();
    impl->file = file_;
    for (const PackagedMethod& method : file_->manifest().methods) {
      LoadedMethod& loaded = impl->methods.emplace_back();
      loaded.name = method.name;
      for (const PackagedVariant& v : method.variants) loaded.variants.push_back(load_variant(v));
    }
    if (const auto& optimizer = file_->manifest().optimizer) load_state(*optimizer, *impl);
    impl->weights = std::move(weights_in_order_);
    return impl;
  }

 private:
  LoadedVariant load_variant(const PackagedVariant& v) {
    LoadedVariant loaded;
    loaded.described = v;
    for (const PackagedInput& input : v.inputs)
      loaded.weights.push_back(input.argument ? at::Tensor() : weight(input));
    std::vector<std::shared_ptr<const CompiledGraph>> graphs = {compiled(v, "forward")};
    if (v.trains) graphs.push_back(compiled(v, "backward"));
    std::vector<aten_bridge::SavedValue> saved;
    for (auto [primal, result] : v.saved) saved.push_back({primal, result});
    // Nothing is compiled: a tangent that was not expected is served by the joint graph.
    OtherBackward other{v.given, nullptr};
    if (std::find(v.given.begin(), v.given.end(), false) != v.given.end())
      other.of_all = [] { return std::shared_ptr<const CompiledGraph>(); };
    loaded.program = std::make_unique<const Program>(
        captured(v), std::move(saved), std::vector<SymExpr>(), graphs, std::move(other),
        /*has_symbols=*/v.symbols > 0, /*replays=*/true, [](const aten_bridge::InternalError&) {});
    return loaded;
  }

  // A tensor over bytes of the mapped file, or, on a GPU, a copy of it.
  at::Tensor over(std::string_view bytes, const TensorType& type) const {
    return at::from_blob(
               const_cast<char*>(bytes.data()), constants(type.sizes), constants(type.strides),
               [file = file_](void*) {}, aten_bridge::to_scalar_type(type.dtype))
        .to(aten_bridge::to_c10_device(type.device));
  }

  // One and the same for every variant.
  at::Tensor weight(const PackagedInput& input) {
    if (auto known = weights_.find(input.name); known != weights_.end()) return known->second;
    at::Tensor tensor = over(file_->weight(input.name), input.type);
    if (input.requires_grad) tensor.requires_grad_(true);
    weights_.emplace(input.name, tensor);
    weights_in_order_.emplace_back(input.name, tensor);
    return tensor;
  }

  void load_state(const PackagedOptimizer& optimizer, Package::Impl& impl) const {
    const auto& stored = file_->optimizer_state();
    for (const char* number : {"step", "lr"})
      impl.optimizer_state[number] =
          over(stored.at(number).bytes, {stored.at(number).dtype, {}, {}, {}});
    for (const PackagedVariant* v : file_->variants())
      for (const PackagedInput& input : v->inputs)
        for (const std::string& state : optimizer.state) {
          const std::string name = str_cat(state, "/", input.name);
          if (!input.argument && input.requires_grad && !impl.optimizer_state.contains(name))
            impl.optimizer_state[name] = over(stored.at(name).bytes, input.type);
        }
  }

  std::shared_ptr<const CompiledGraph> compiled(const PackagedVariant& v,
                                                std::string_view graph) const {
    auto compiled = std::make_shared<CompiledGraph>();
    compiled->plan = file_->plan(v, graph);
    compiled->launchers = file_->launchers(compiled->plan);
    compiled->linked = value_of(inductor::link(compiled->plan), path_);
    return compiled;
  }

  Captured captured(const PackagedVariant& v) const {
    Captured captured;
    captured.joint.primals = static_cast<int>(v.inputs.size());
    captured.joint.results = v.graph_results;
    captured.joint.tangents = v.tangents;
    if (v.trains) {
      const std::string name = section_name(v, "joint", "graph");
      captured.joint.graph =
          value_of(aten_bridge::parse_graph(value_of(file_->section(name), path_)), name);
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
  const std::shared_ptr<const PackageFile> file_;
  aten_bridge::HashMap<std::string, at::Tensor> weights_;
  std::vector<std::pair<std::string, at::Tensor>> weights_in_order_;
};

// What lies elsewhere than in the file's pages (on a GPU) is copied there.
void put_back(const at::Tensor& tensor, std::string_view bytes) {
  void* place = const_cast<char*>(bytes.data());
  if (tensor.const_data_ptr() == place) return;
  at::from_blob(place, tensor.sizes(), tensor.strides(), tensor.scalar_type())
      .copy_(tensor.detach());
}

}  // namespace

std::shared_ptr<const Package::Impl> load_parts(const std::string& path,
                                                const LoadOptions& options) {
  try {
    return Loader(path, options).load();
  } catch (const aten_bridge::InternalError& error) {  // a text that breaks a law
    throw PackageError(str_cat(path, ": ", error.what()));
  }
}

const LoadedMethod& find(const Package::Impl& package, std::string_view name) {
  for (const LoadedMethod& method : package.methods)
    if (method.name == name) return method;
  throw PackageError(no_method(package.file->manifest(), name));
}

const std::vector<std::pair<std::string, at::Tensor>>& Package::weights() const& {
  return impl_->weights;
}

std::vector<at::Tensor> Package::parameters() const {
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : impl_->weights)
    if (tensor.requires_grad()) parameters.push_back(tensor);
  return parameters;
}

std::string Package::manifest() const { return std::string(impl_->file->manifest_text()); }

std::vector<std::string> Package::methods() const {
  std::vector<std::string> names;
  for (const LoadedMethod& method : impl_->methods) names.push_back(method.name);
  return names;
}

void Package::save(const std::string& path) const {
  for (const auto& [name, tensor] : impl_->weights) put_back(tensor, impl_->file->weight(name));
  for (const auto& [name, tensor] : impl_->optimizer_state)
    put_back(tensor, impl_->file->optimizer_state().at(name).bytes);
  const absl::Status written = impl_->file->write(path);
  if (!written.ok()) throw PackageError(std::string(written.message()));
}

Package load(const std::string& path, const LoadOptions& options) {
  return Package(load_parts(path, options));
}

}  // namespace torchdyn
