#include "aten_bridge/trace/value_reads.h"

#include <cmath>
#include <sstream>

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

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
    {"aten::linalg_lstsq", ReadsValues::kSizes},
    {"aten::_ctc_loss.Tensor", ReadsValues::kSizes},
    {"aten::repeat_interleave.Tensor", ReadsValues::kSizes},
};

}  // namespace

ReadsValues reads_values(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.reads;
  return ReadsValues::kNo;
}

HostNumber read_number(const at::Tensor& tensor) {
  const at::Scalar number = tensor.item();
  if (number.isBoolean()) return number.toBool();
  if (number.isComplex()) return std::complex<double>(number.toComplexDouble());
  if (number.isFloatingPoint()) return number.toDouble();
  return number.toLong();
}

bool is_same(const HostNumber& a, const HostNumber& b) {
  const auto is_nan = [](const HostNumber& number) {
    const auto* real = std::get_if<double>(&number);
    return real != nullptr && std::isnan(*real);
  };
  return a == b || (is_nan(a) && is_nan(b));
}

std::string to_string(const HostNumber& number) {
  std::ostringstream text;
  std::visit([&](const auto& n) { text << std::boolalpha << n; }, number);
  return text.str();
}

}  // namespace aten_bridge
