#include "aten_bridge/trace/refusals.h"

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

struct Row {
  std::string_view op;
  std::string_view reason;
};

constexpr std::string_view kReadsValue =
    "reads a tensor's value on the host (item(), a branch on a tensor); compute with tensors "
    "instead";
constexpr std::string_view kDependsOnData = "makes a tensor whose size depends on values";
constexpr std::string_view kHiddenMutation = "changes an argument that its schema calls read-only";
constexpr std::string_view kChangesStorage = "changes a tensor's storage";

constexpr Row kRows[] = {
    {"aten::_local_scalar_dense", kReadsValue},
    {"aten::equal", kReadsValue},
    {"aten::is_nonzero", kReadsValue},
    {"aten::_assert_async", kReadsValue},
    {"aten::nonzero", kDependsOnData},
    {"aten::masked_select", kDependsOnData},
    {"aten::bincount", kDependsOnData},
    {"aten::_unique2", kDependsOnData},
    {"aten::unique_dim", kDependsOnData},
    {"aten::unique_consecutive", kDependsOnData},
    {"aten::repeat_interleave.Tensor", kDependsOnData},
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
  return std::nullopt;
}

std::string undeclared(std::string_view who) {
  return str_cat(who,
                 " met a tensor that is neither an argument nor declared state; pass it as an "
                 "argument or list it in options.state");
}

}  // namespace aten_bridge
