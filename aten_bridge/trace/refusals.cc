#include "aten_bridge/trace/refusals.h"

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

struct Row {
  std::string_view op;
  std::string_view reason;
};

constexpr std::string_view kSparse = "makes a sparse tensor, or takes one";
constexpr std::string_view kHiddenMutation = "changes an argument that its schema calls read-only";
constexpr std::string_view kGivenAGenerator =
    "is given a generator; only the default one can be captured";
constexpr std::string_view kChangesStorage = "changes a tensor's storage";

constexpr Row kRows[] = {
    {"aten::_to_sparse", kSparse},
    {"aten::_to_sparse.sparse_dim", kSparse},
    {"aten::_sparse_mm_reduce_impl", kSparse},
    {"aten::_sparse_mm_reduce_impl_backward", kSparse},
    {"aten::sparse_mask", kSparse},
    {"aten::sparse_sampled_addmm", kSparse},
    {"aten::cudnn_batch_norm", kHiddenMutation},
    {"aten::miopen_batch_norm", kHiddenMutation},
    {"aten::batch_norm_update_stats", kHiddenMutation},
    {"aten::batch_norm_gather_stats", kHiddenMutation},
    {"aten::batch_norm_gather_stats_with_counts", kHiddenMutation},
    {"aten::set_.source_Storage", kChangesStorage},
    {"aten::set_.source_Storage_storage_offset", kChangesStorage},
    {"aten::set_.source_Tensor", kChangesStorage},
    {"aten::set_", kChangesStorage},
    {"aten::set_data", kChangesStorage},
};

}  // namespace

std::optional<std::string_view> refusal(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.reason;
  const size_t overload = op.rfind('.');
  if (overload != op.npos && op.substr(overload).find("generator") != op.npos)
    return kGivenAGenerator;
  return std::nullopt;
}

std::string undeclared(std::string_view who) {
  return str_cat(who,
                 " met a tensor that is neither an argument nor declared state; pass it as an "
                 "argument or list it in options.state");
}

}  // namespace aten_bridge
