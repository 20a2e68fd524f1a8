#include "torchdyn/dynamic_sizes.h"

#include <algorithm>

#include <ATen/core/Tensor.h>

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

using aten_bridge::Symbol;

constexpr int64_t kLeastSize = 2;

int64_t value_of(const SymExpr& e, const Samples& values) {
  if (e.is_constant()) return e.as_constant();
  return e.evaluate([&](Symbol s) { return values[s.index]; });
}

bool has(at::IntArrayRef given, const std::vector<SymExpr>& wanted, const Samples& values) {
  if (given.size() != wanted.size()) return false;
  for (size_t d = 0; d < wanted.size(); ++d)
    if (given[d] != value_of(wanted[d], values)) return false;
  return true;
}

}  // namespace

SymbolMap map_of(const Samples& values) {
  SymbolMap map;
  for (size_t s = 0; s < values.size(); ++s) map[{'s', static_cast<int32_t>(s)}] = values[s];
  return map;
}

absl::StatusOr<SizeGuards> SizeGuards::make(DynamicSizes sizes, const internal::Leaves& leaves) {
  if (sizes.tensors.size() != leaves.tensors.size() ||
      sizes.numbers.size() != leaves.numbers.size())
    return absl::InvalidArgumentError("the call has other arguments than its sizes were given for");
  if (sizes.samples.empty())
    return absl::InvalidArgumentError("no other sizes than the call's are known to be allowed");
  SizeGuards guards;
  guards.sizes_ = std::move(sizes);
  const size_t symbols = guards.sizes_.samples[0].size();
  guards.sources_.resize(symbols);
  const auto offer = [&](const SymExpr& e, Source source) {
    const auto symbol = e.as_symbol();
    if (!symbol || static_cast<size_t>(symbol->index) >= symbols) return;
    Source& known = guards.sources_[symbol->index];
    if (known.index < 0) known = source;
  };
  for (size_t n = 0; n < guards.sizes_.numbers.size(); ++n)
    offer(guards.sizes_.numbers[n], {-1, static_cast<int>(n)});
  for (size_t t = 0; t < guards.sizes_.tensors.size(); ++t)
    if (const auto& geometry = guards.sizes_.tensors[t])
      for (size_t d = 0; d < geometry->sizes.size(); ++d)
        offer(geometry->sizes[d], {static_cast<int>(t), static_cast<int>(d)});
  for (size_t s = 0; s < symbols; ++s)
    if (guards.sources_[s].index < 0)
      return absl::InvalidArgumentError(aten_bridge::str_cat("no argument tells what s", s, " is"));
  const auto first = guards.values(leaves);
  if (!first)
    return absl::InvalidArgumentError("a size of this call is below 2 or not as declared");
  guards.first_ = *first;
  return guards;
}

std::optional<Samples> SizeGuards::values(const internal::Leaves& leaves) const {
  if (leaves.tensors.size() != sizes_.tensors.size() ||
      leaves.numbers.size() != sizes_.numbers.size())
    return std::nullopt;
  Samples values;
  values.reserve(sources_.size());
  for (const Source& source : sources_) {
    if (source.tensor < 0) {
      values.push_back(leaves.numbers[source.index]);
    } else {
      const auto given = leaves.tensors[source.tensor].sizes();
      if (static_cast<size_t>(source.index) >= given.size()) return std::nullopt;
      values.push_back(given[source.index]);
    }
    if (values.back() < kLeastSize) return std::nullopt;
  }
  for (size_t n = 0; n < leaves.numbers.size(); ++n)
    if (leaves.numbers[n] != value_of(sizes_.numbers[n], values)) return std::nullopt;
  for (size_t t = 0; t < leaves.tensors.size(); ++t) {
    const auto& geometry = sizes_.tensors[t];
    if (geometry && !(has(leaves.tensors[t].sizes(), geometry->sizes, values) &&
                      has(leaves.tensors[t].strides(), geometry->strides, values)))
      return std::nullopt;
  }
  return values;
}

std::string SizeGuards::describe() const {
  std::string text = "sizes: ";
  for (size_t s = 0; s < first_.size(); ++s)
    aten_bridge::str_append(&text, s ? ", " : "", "s", s, " = ", first_[s]);
  return text + " in the first call";
}

}  // namespace torchdyn
