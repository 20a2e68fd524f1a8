#include "aten_bridge/trace/value_reads.h"

namespace aten_bridge {
namespace {

struct Row {
  std::string_view op;
  ReadsValues reads;
};

constexpr Row kRows[] = {
    {"aten::_local_scalar_dense", ReadsValues::kNumber},
    {"aten::_unique", ReadsValues::kSizes},
    {"aten::_unique2", ReadsValues::kSizes},
    {"aten::unique_dim", ReadsValues::kSizes},
    {"aten::unique_consecutive", ReadsValues::kSizes},
    {"aten::unique_dim_consecutive", ReadsValues::kSizes},
    {"aten::nonzero", ReadsValues::kSizes},
    {"aten::masked_select", ReadsValues::kSizes},
    {"aten::bincount", ReadsValues::kSizes},
    {"aten::_ctc_loss.Tensor", ReadsValues::kSizes},
    {"aten::repeat_interleave.Tensor", ReadsValues::kSizes},
};

}  // namespace

ReadsValues reads_values(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.reads;
  return ReadsValues::kNo;
}

}  // namespace aten_bridge
