#include "inductor/runtime/core/bind.h"

#include <gtest/gtest.h>

namespace inductor {
namespace {

KernelPlan open_plan() {
  KernelPlan plan;
  const SymExpr s0 = SymExpr::symbol({'s', 0});
  const TensorType input{DType::kFloat32, {}, {s0, 8}, {8, 1}};
  plan.name = "forward";
  plan.buffers = {{"arg0", input, Storage::kInput, 0},
                  {"buf0", {DType::kFloat32, {}, {s0 * 2 + 1}, {1}}, Storage::kOwned, 0},
                  {"buf1", {DType::kFloat32, {}, {s0, 3}, {4, 1}}, Storage::kExtern, 0}};
  plan.inputs = {0};
  plan.outputs = {TensorRef{2, {s0, 3}, {4, 1}, s0 - 1}, std::nullopt};
  const TensorRef part{0, {s0, 3}, {8, 1}, s0};
  plan.steps = {Allocate{1}, Launch{"row", {0, 1}, {s0, s0 * 2 + 1}, {s0, 32}},
                ExternCall{"aten::op",
                           {{"self", part},
                            {"length", s0},
                            {"sizes", std::vector<SymExpr>{s0, 3}},
                            {"list", std::vector<std::optional<TensorRef>>{part, std::nullopt}}},
                           {2}},
                Release{0}, Release{1}};
  return plan;
}

TEST(Bind, PutsNumbersInThePlaceOfEverySymbol) {
  const KernelPlan open = open_plan();
  EXPECT_TRUE(has_symbols(open));
  const KernelPlan bound = bind(open, {{Symbol{'s', 0}, 5}});
  EXPECT_FALSE(has_symbols(bound));
  EXPECT_EQ(bound.buffers[1].type.sizes, (std::vector<SymExpr>{11}));
  EXPECT_EQ(std::get<Launch>(bound.steps[1]).sizes, (std::vector<SymExpr>{5, 11}));
  EXPECT_EQ(std::get<Launch>(bound.steps[1]).shape.blocks, SymExpr(5));
  const auto& call = std::get<ExternCall>(bound.steps[2]);
  EXPECT_EQ(std::get<SymExpr>(call.args[1].second), SymExpr(5));
  const auto& list = std::get<std::vector<std::optional<TensorRef>>>(call.args[3].second);
  EXPECT_EQ(list[0]->offset, SymExpr(5));
  EXPECT_EQ(bound.outputs[0]->offset, SymExpr(4));
}

TEST(Bind, LeavesThePlanAsItIs) {
  const KernelPlan open = open_plan();
  const std::string before = print(open);
  bind(open, {{Symbol{'s', 0}, 5}});
  EXPECT_EQ(print(open), before);
}

}  // namespace
}  // namespace inductor
