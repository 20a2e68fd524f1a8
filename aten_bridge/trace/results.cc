#include "aten_bridge/trace/results.h"

#include <algorithm>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/refusals.h"
#include "aten_bridge/trace/substitution.h"

namespace aten_bridge {
namespace {

namespace functional = at::functionalization::impl;
using Kind = ResultSource::Kind;

// Aliases share one functional storage.
const c10::StorageImpl* storage_of(const at::Tensor& wrapper) {
  return wrapper.storage().unsafeGetStorageImpl();
}

bool fills_storage(const at::Tensor& wrapper) {
  return wrapper.storage_offset() == 0 && wrapper.is_non_overlapping_and_dense() &&
         wrapper.nbytes() == wrapper.storage().nbytes();
}

ResultSource whole(Kind kind, int index) {
  ResultSource source;
  source.kind = kind;
  source.index = index;
  return source;
}

// The view of `base` that `view` is; both share a storage.
ResultSource view_source(Kind kind, int index, const at::Tensor& view, const at::Tensor& base) {
  if (view.dtype() != base.dtype())
    throw CaptureError("a result shares memory with a tensor of another dtype");
  ResultSource source = whole(kind, index);
  source.sizes.assign(view.sizes().begin(), view.sizes().end());
  source.strides.assign(view.strides().begin(), view.strides().end());
  source.offset = view.storage_offset() - base.storage_offset();
  // Such a view requires grad like its base and has no grad_fn; made again with grad mode, it
  // would.
  if (c10::GradMode::is_enabled() && view.requires_grad() && view.is_leaf())
    throw CaptureError("a result is a view that was made without grad mode");
  source.detached = base.requires_grad() && !view.requires_grad();
  if (view.requires_grad() && !base.requires_grad())
    throw CaptureError("a differentiable result shares memory with a tensor that is not");
  return source;
}

// The tensor that aliases among the results are views of, when none of them fills the storage: what
// autograd knows as their base, or, without gradients, what functionalization does.
at::Tensor common_base(const Tensors& aliases) {
  for (const at::Tensor& alias : aliases) {
    if (!alias.requires_grad() || !alias.is_view()) continue;
    const at::Tensor base(alias._base());
    if (storage_of(base) == storage_of(alias) && fills_storage(base)) return base;
  }
  const bool any_grad = std::any_of(aliases.begin(), aliases.end(),
                                    [](const at::Tensor& t) { return t.requires_grad(); });
  if (any_grad) return {};
  functional::sync(aliases[0]);
  auto* storage = static_cast<at::functionalization::FunctionalStorageImpl*>(
      aliases[0].storage().unsafeGetStorageImpl());
  at::Tensor base = functional::to_functional_tensor(storage->base());
  return fills_storage(base) ? base : at::Tensor();
}

// Whose memory all aliases share: the best of themselves, else their base; undefined: none will do.
at::Tensor owner_of(const Tensors& aliases) {
  at::Tensor owner;
  for (const at::Tensor& alias : aliases)
    if (fills_storage(alias) && (!owner.defined() || alias.requires_grad()) &&
        !(owner.defined() && owner.requires_grad()))
      owner = alias;
  if (owner.defined()) return owner;
  const bool alone = std::all_of(aliases.begin(), aliases.end(),
                                 [&](const at::Tensor& t) { return t.is_same(aliases[0]); });
  if (alone && aliases[0].is_non_overlapping_and_dense()) return aliases[0];
  owner = common_base(aliases);
  if (owner.defined() || !alone) return owner;
  return aliases[0];
}

class ResultReader {
 public:
  explicit ResultReader(const Substitution& substitution) : substitution_(substitution) {
    for (size_t i = 0; i < substitution.wrappers().size(); ++i)
      inputs_.emplace(storage_of(substitution.wrappers()[i]), static_cast<int>(i));
  }

  Readout read(const Tensors& results) {
    for (const at::Tensor& result : results)
      if (is_computed(result)) aliases_[storage_of(result)].push_back(result);
    for (const at::Tensor& result : results) readout_.sources.push_back(source_of(result));
    readout_.returned = static_cast<int>(readout_.graph_results.size());
    read_mutations();
    return std::move(readout_);
  }

 private:
  bool is_computed(const at::Tensor& result) const {
    if (!result.defined() || substitution_.find(result) >= 0) return false;
    if (!functional::isFunctionalTensor(result))
      throw CaptureError(undeclared("the callable returns a tensor that"));
    if (inputs_.contains(storage_of(result))) return false;
    if (result.is_leaf() && result.requires_grad())
      throw CaptureError("the callable returns a leaf that requires grad, made inside of it");
    return true;
  }

  ResultSource source_of(const at::Tensor& result) {
    if (!result.defined()) return {};
    if (const int input = substitution_.find(result); input >= 0) return whole(Kind::kInput, input);
    if (const auto input = inputs_.find(storage_of(result)); input != inputs_.end())
      return view_source(Kind::kViewOfInput, input->second, result,
                         substitution_.wrappers()[input->second]);
    const auto& [owner, index] = owned(result);
    if (owner.is_same(result)) return whole(Kind::kGraph, index);
    return view_source(Kind::kViewOfGraph, index, result, owner);
  }

  const std::pair<at::Tensor, int>& owned(const at::Tensor& result) {
    auto [it, fresh] = owners_.try_emplace(storage_of(result));
    if (fresh) {
      const at::Tensor owner = owner_of(aliases_.at(storage_of(result)));
      if (!owner.defined())
        throw CaptureError("two results share memory in a way that capture cannot express");
      it->second = {owner, static_cast<int>(readout_.graph_results.size())};
      readout_.graph_results.push_back(owner);
    }
    return it->second;
  }

  void read_mutations() {
    for (size_t i = 0; i < substitution_.wrappers().size(); ++i) {
      const at::Tensor& wrapper = substitution_.wrappers()[i];
      check_metadata(i);
      if (value_of(fake_in(wrapper)) == value_of(substitution_.fakes()[i])) continue;
      check_mutation(i);
      readout_.mutations.push_back(
          {static_cast<int>(i), static_cast<int>(readout_.graph_results.size())});
      readout_.graph_results.push_back(wrapper);
    }
  }

  void check_metadata(size_t i) const {
    const at::Tensor& wrapper = substitution_.wrappers()[i];
    const at::Tensor& fake = substitution_.fakes()[i];
    auto* functional_wrapper = functional::unsafeGetFunctionalWrapper(wrapper);
    if (functional_wrapper->has_metadata_mutation() || functional_wrapper->was_storage_changed() ||
        wrapper.sizes() != fake.sizes() || wrapper.strides() != fake.strides() ||
        wrapper.storage_offset() != fake.storage_offset())
      throw CaptureError(str_cat("the callable changes the shape, strides or storage of '", name(i),
                                 "' in place"));
    if (wrapper.unsafeGetTensorImpl()->grad().defined())
      throw CaptureError(str_cat("backward() inside the callable accumulates into '", name(i),
                                 "'; call it on the result, outside"));
  }

  void check_mutation(size_t i) const {
    const Tensors& real = substitution_.tensors();
    if (real[i].requires_grad())
      throw CaptureError(
          str_cat("the callable changes '", name(i), "', which requires grad, in place"));
    if (substitution_.wrappers()[i].requires_grad())
      throw CaptureError(
          str_cat("the callable writes differentiable values into '", name(i), "' in place"));
    if (at::has_internal_overlap(real[i]) == at::MemOverlap::Yes)
      throw CaptureError(
          str_cat("the callable changes '", name(i), "' in place, whose elements share memory"));
    for (size_t j = 0; j < real.size(); ++j)
      if (j != i && real[j].is_alias_of(real[i]))
        throw CaptureError(str_cat("the callable changes '", name(i),
                                   "' in place, which shares memory with '", name(j), "'"));
  }

  const std::string& name(size_t i) const { return substitution_.names()[i]; }

  const Substitution& substitution_;
  HashMap<const c10::StorageImpl*, int> inputs_;
  HashMap<const c10::StorageImpl*, Tensors> aliases_;  // among the results
  HashMap<const c10::StorageImpl*, std::pair<at::Tensor, int>> owners_;
  Readout readout_;
};

}  // namespace

Readout read_out(const Tensors& results, const Substitution& substitution) {
  return ResultReader(substitution).read(results);
}

at::Tensor fake_in(const at::Tensor& wrapper) {
  functional::sync(wrapper);
  return functional::from_functional_tensor(wrapper);
}

}  // namespace aten_bridge
