// The tables of capture and of the compiler fit together.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/operator_info.h"
#include "inductor/lowering/row.h"

namespace torchdyn {
namespace {

// One that is always decomposed never arrives at its lowering, which would be dead.
TEST(OperatorTables, AnOperatorIsDecomposedOrLowered) {
  for (const auto& family : aten_bridge::decomposition_families())
    for (const auto& row : family) {
      if (row.applies != nullptr) continue;  // to some arguments
      const inductor::LoweringRow* lowering = inductor::find_lowering(row.op);
      EXPECT_TRUE(lowering == nullptr || lowering->lower == nullptr) << row.op;
    }
}

TEST(OperatorTables, CaptureKnowsTheShapesOfWhatIsLowered) {
  aten_bridge::OperatorTable table;
  for (const auto& family : inductor::lowering_families())
    for (const inductor::LoweringRow& row : family) {
      const bool made_by_us = row.op.starts_with("torchdyn::");  // below captures
      if (row.lower == nullptr || made_by_us) continue;
      const auto& info = table.of(aten_bridge::find_operator(row.op));
      EXPECT_TRUE(info.shape.exists() || info.is_composite) << row.op;
    }
}

}  // namespace
}  // namespace torchdyn
