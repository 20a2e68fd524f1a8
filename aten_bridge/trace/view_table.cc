#include "aten_bridge/trace/view_table.h"

#include "aten_bridge/fake/fake_tensor.h"

namespace aten_bridge {

bool same_geometry(const at::Tensor& a, const at::Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

std::optional<Value> ViewTable::find(const at::Tensor& base, const at::Tensor& twin) const {
  if (same_geometry(meta_twin(base), twin)) return value_of(base);
  const auto views = views_.find(root(value_of(base)));
  if (views == views_.end()) return std::nullopt;
  for (const auto& [geometry, value] : views->second)
    if (same_geometry(geometry, twin)) return value;
  return std::nullopt;
}

void ViewTable::add(const at::Tensor& base, const at::Tensor& twin, Value view) {
  const Value memory = root(value_of(base));
  auto& views = views_[memory];
  if (views.empty()) views.emplace_back(meta_twin(base), memory);
  views.emplace_back(twin, view);
  roots_.emplace(view, memory);
}

Value ViewTable::root(Value value) const {
  const auto found = roots_.find(value);
  return found == roots_.end() ? value : found->second;
}

}  // namespace aten_bridge
