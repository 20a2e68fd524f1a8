#include "aten_bridge/trace/index_bounds.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

namespace aten_bridge {
namespace {

using Arguments = std::span<const c10::IValue>;
using Bounds = std::vector<IndexBounds>;

// (self, dim, index, ...)
template <bool wraps>
Bounds along_dim(Arguments a) {
  const at::Tensor& self = a[0].toTensor();
  const int64_t dim = at::maybe_wrap_dim(a[1].toInt(), self.dim());
  return {{a[2].toTensor(), self.dim() == 0 ? 1 : self.size(dim), wraps, {}}};
}
// (table, indices, ...)
Bounds rows(Arguments a) { return {{a[1].toTensor(), a[0].toTensor().size(0), false, {}}}; }
// (self, index, ...): of all elements
Bounds elements(Arguments a) { return {{a[1].toTensor(), a[0].toTensor().numel(), true, {}}}; }
// (self, indices, ...): one a dimension
Bounds each_dim(Arguments a) {
  Bounds bounds;
  const auto indices = a[1].toOptionalTensorList();
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    const std::optional<at::Tensor> index = indices.get(dim);
    if (index && index->defined() && at::isIntegralType(index->scalar_type(), false))
      bounds.push_back({*index, a[0].toTensor().size(static_cast<int64_t>(dim)), true, {}});
  }
  return bounds;
}
// (self, target, weight?, reduction, ignore_index)
Bounds classes(Arguments a) {
  const at::Tensor& self = a[0].toTensor();
  const int64_t size = self.dim() == 1 ? self.size(0) : self.size(1);
  return {{a[1].toTensor(), size, false, a[4].toInt()}};
}

// Those that have a lowering or a decomposition: extern calls raise themselves.
struct Row {
  std::string_view op;
  Bounds (*bounds)(Arguments);
};
constexpr Row kRows[] = {
    {"aten::embedding", rows},
    {"aten::gather", along_dim<false>},
    {"aten::index.Tensor", each_dim},
    {"aten::_unsafe_index.Tensor", each_dim},
    {"aten::index_put", each_dim},
    {"aten::index_add", along_dim<false>},
    {"aten::index_copy", along_dim<false>},
    {"aten::index_fill.int_Scalar", along_dim<true>},
    {"aten::index_fill.int_Tensor", along_dim<true>},
    {"aten::index_select", along_dim<false>},
    {"aten::nll_loss2d_forward", classes},
    {"aten::nll_loss_forward", classes},
    {"aten::scatter.src", along_dim<false>},
    {"aten::scatter.value", along_dim<false>},
    {"aten::scatter_add", along_dim<false>},
    {"aten::take", elements},
};

}  // namespace

std::vector<IndexBounds> index_bounds(std::string_view op, Arguments args) {
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    if (args[0].toTensor().is_cuda()) return {};
    Bounds bounds = row.bounds(args);
    std::erase_if(bounds, [](const IndexBounds& b) { return b.index.numel() == 0; });
    return bounds;
  }
  return {};
}

at::Tensor are_inside(const IndexBounds& b) {
  at::Tensor inside = b.index.ge(b.wraps ? -b.size : 0).logical_and(b.index.lt(b.size));
  if (b.ignored) inside = inside.logical_or(b.index.eq(*b.ignored));
  return inside.all();
}

}  // namespace aten_bridge
