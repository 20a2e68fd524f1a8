#include <algorithm>
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
#include "inductor/runtime/aten/run.h"
#include "torchdyn/package.h"
#include "torchdyn/package/plain/package_file.h"
#include "torchdyn/package/results.h"
#include "torchdyn/program.h"

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

}  // namespace

struct Package::Impl {
  std::shared_ptr<const PackageFile> file;
  std::vector<LoadedVariant> variants;
  std::vector<std::pair<std::string, at::Tensor>> weights;  // by name
};

namespace {

class Loader {
 public:
  explicit Loader(const std::string& path)
      : path_(path), file_(value_of(PackageFile::open(path), "torchdyn::load")) {}

  std::shared_ptr<const Package::Impl> load() {
    auto impl = std::make_shared<Package::Impl>();
    impl->file = file_;
    for (const PackagedVariant& variant : file_->manifest().variants)
      impl->variants.push_back(load_variant(variant));
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

  // A tensor over the mapped file; one and the same for every variant.
  at::Tensor weight(const PackagedInput& input) {
    if (auto known = weights_.find(input.name); known != weights_.end()) return known->second;
    at::Tensor tensor = at::from_blob(
        const_cast<char*>(file_->weight(input).data()), constants(input.type.sizes),
        constants(input.type.strides), [file = file_](void*) {},
        aten_bridge::to_scalar_type(input.type.dtype));
    tensor = tensor.to(aten_bridge::to_c10_device(input.type.device));  // the CPU's stays in place
    if (input.requires_grad) tensor.requires_grad_(true);
    weights_.emplace(input.name, tensor);
    weights_in_order_.emplace_back(input.name, tensor);
    return tensor;
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

// What one call runs with.
struct Bound {
  std::vector<int64_t> sizes;  // s0, s1, ...
  std::vector<at::Tensor> inputs;
};

// Whether a variant takes the arguments; then `bound` is what it runs with.
Verdict takes(const LoadedVariant& variant, const std::vector<at::Tensor>& arguments,
              Bound& bound) {
  const PackagedVariant& v = variant.described;
  std::vector<TensorType> types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (auto plain = is_plain(arguments[i], static_cast<int>(i)); !plain) return plain;
    types.push_back(aten_bridge::type_of(arguments[i]));
  }
  if (auto fits = check_arguments(v, types, bound.sizes); !fits) return fits;
  bound.inputs = variant.weights;
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    const PackagedInput& input = v.inputs[i];
    if (!input.argument) continue;
    const at::Tensor& t = arguments[*input.argument];
    const bool loses_gradient = c10::GradMode::is_enabled() && t.requires_grad();
    if (loses_gradient && !(v.trains && input.requires_grad))
      return Verdict::no(str_cat("input ", *input.argument, " (", input.name,
                                 ") requires a gradient, and did not when it was saved"));
    bound.inputs[i] = t;
  }
  return v.mutations.empty() ? Verdict::yes() : are_apart(bound.inputs);
}

}  // namespace

std::vector<at::Tensor> Package::operator()(const std::vector<at::Tensor>& arguments) const {
  std::string reason = "the package is empty";
  // Those that were captured with gradients on, or off, as they are now, come first.
  for (const bool as_now : {true, false}) {
    for (const LoadedVariant& variant : impl_->variants) {
      if ((variant.described.grad_mode == c10::GradMode::is_enabled()) != as_now) continue;
      Bound bound;
      if (auto fits = takes(variant, arguments, bound); !fits) {
        if (as_now || reason == "the package is empty") reason = fits.reason();
        continue;
      }
      try {
        return variant.program->run(bound.sizes, bound.inputs).tensors;
      } catch (const aten_bridge::EagerRaises& error) {
        throw PackageError(error.what());
      } catch (const aten_bridge::AssumptionFailed& error) {
        reason = error.what();
      }
    }
  }
  throw PackageError(reason);
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

void Package::save(const std::string& path) const {
  // A weight that lies elsewhere than in the file's pages (on a GPU) is copied there.
  std::set<std::string> copied;
  for (const PackagedVariant& v : impl_->file->manifest().variants)
    for (const PackagedInput& input : v.inputs) {
      if (input.argument || !copied.insert(input.name).second) continue;
      void* place = const_cast<char*>(impl_->file->weight(input).data());
      for (const auto& [name, tensor] : impl_->weights)
        if (name == input.name && tensor.const_data_ptr() != place)
          at::from_blob(place, tensor.sizes(), tensor.strides(), tensor.scalar_type())
              .copy_(tensor.detach());
    }
  const absl::Status written = impl_->file->write(path);
  if (!written.ok()) throw PackageError(std::string(written.message()));
}

Package load(const std::string& path) {
  try {
    return Package(Loader(path).load());
  } catch (const aten_bridge::InternalError& error) {  // a text that breaks a law
    throw PackageError(str_cat(path, ": ", error.what()));
  }
}

}  // namespace torchdyn
