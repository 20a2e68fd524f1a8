#include "torchdyn/operators.h"

#include <algorithm>
#include <map>
#include <regex>

#include <ATen/core/dispatch/Dispatcher.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/operator_info.h"
#include "inductor/lowering/lowering.h"

namespace torchdyn {
namespace {

using aten_bridge::OperatorInfo;
using aten_bridge::str_cat;
using inductor::OpKind;

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kView:
      return "view";
    case OpKind::kPointwise:
      return "pointwise";
    case OpKind::kReduction:
      return "reduction";
    case OpKind::kScatter:
      return "scatter";
    case OpKind::kExtern:
      return "extern";
    case OpKind::kRandom:
      return "random";
  }
  return "";
}

OperatorRow row_of(const OperatorInfo& info) {
  const OpKind kind = inductor::kind_of(info.name);
  const bool has_shape = info.shape.exists() || info.reads == aten_bridge::ReadsValues::kSizes;
  const bool is_lowered = has_shape && kind != OpKind::kExtern && kind != OpKind::kRandom;
  const std::string loops(is_lowered ? name_of(kind) : "");
  if (info.refusal) return {info.name, "refused", std::string(*info.refusal)};
  if (info.rewrite) return {info.name, "rewritten", loops};
  if (info.decomposition) return {info.name, "decomposed", ""};
  if (is_lowered) return {info.name, "lowered", loops};
  if (has_shape) return {info.name, "extern", kind == OpKind::kRandom ? "random" : ""};
  if (info.mutates) return {info.name, "functional", ""};
  if (info.is_composite) return {info.name, "composite", ""};
  return {info.name, "eager", ""};
}

}  // namespace

std::vector<OperatorRow> operator_table(const std::string& pattern) {
  const std::regex wanted(pattern);
  aten_bridge::OperatorTable table;
  std::vector<OperatorRow> rows;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.getNamespace() != "aten") continue;
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    const OperatorInfo& info = table.of(*op);
    if (std::regex_search(info.name, wanted)) rows.push_back(row_of(info));
  }
  std::sort(rows.begin(), rows.end(),
            [](const OperatorRow& a, const OperatorRow& b) { return a.op < b.op; });
  return rows;
}

std::string print(std::span<const OperatorRow> rows) {
  std::string text;
  for (const OperatorRow& row : rows)
    text += str_cat(row.how, " ", row.op, row.detail.empty() ? "" : " ", row.detail, "\n");
  return text;
}

std::string summary(std::span<const OperatorRow> rows) {
  std::map<std::string_view, int> counts;
  for (const OperatorRow& row : rows) ++counts[row.how];
  std::string text;
  for (const auto& [how, count] : counts) text += str_cat(how, ": ", count, "\n");
  return text;
}

}  // namespace torchdyn
