// A lowering row: an operator, its kind and the function that turns a node into loops.
//   constexpr LoweringRow kRows[] = {{"aten::relu", OpKind::kPointwise, pointwise<relu>}};
// A function that cannot lower a node says why and emits nothing; the node is an extern call then.
#pragma once

#include <span>
#include <string_view>

#include "aten_bridge/base/verdict.h"
#include "inductor/lowering/builder.h"
#include "inductor/lowering/eager_bits.h"
#include "inductor/lowering/lowering.h"

namespace inductor {

using aten_bridge::Node;
using aten_bridge::Value;
using aten_bridge::Verdict;

struct ElementFunction;

struct LoweringRow {
  std::string_view op;
  OpKind kind;
  Verdict (*lower)(Builder&, const Node&);  // null: always an extern call
  RoundsOtherwise otherwise = {};           // where its formula has not eager's bits
  // Of a row that joined while the program ran, in the place of `lower`.
  const ElementFunction* element = nullptr;
  // Tensors of the host among its arguments are few numbers, which kernels are given by value.
  bool takes_host_values = false;
};

using LoweringRows = std::span<const LoweringRow>;

// One a family, in a file of that name; table.cc lists them.
LoweringRows activation_rows();
LoweringRows copy_rows();
LoweringRows depthwise_rows();
LoweringRows diagonal_rows();
LoweringRows extremum_rows();
LoweringRows factory_rows();
LoweringRows index_rows();
LoweringRows pad_rows();
LoweringRows philox_rows();
LoweringRows pointwise_rows();
LoweringRows pool_rows();
LoweringRows random_rows();
LoweringRows reduce_rows();
LoweringRows reorder_rows();
LoweringRows scan_rows();
LoweringRows scatter_rows();
LoweringRows search_rows();
LoweringRows slice_rows();
LoweringRows special_rows();
LoweringRows upsample_rows();
LoweringRows view_rows();

// The row for an operator, or null. What joins (element.h) is found here too.
const LoweringRow* find_lowering(std::string_view op);
std::span<const LoweringRows> lowering_families();

}  // namespace inductor
