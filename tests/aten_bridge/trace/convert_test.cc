#include "aten_bridge/trace/convert.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/interpret.h"

namespace aten_bridge {
namespace {

ArgumentValue no_tensor(const at::Tensor&) { return {}; }
at::Tensor no_value(Value) { return {}; }

// To the graph's form and back, as the argument `name` of an operator.
c10::IValue round_trip(std::string_view op, const std::string& name, const c10::IValue& value) {
  const c10::OperatorHandle handle = find_operator(op);
  for (const c10::Argument& spec : handle.schema().arguments())
    if (spec.name() == name) return to_ivalue(to_argument(value, spec, no_tensor), spec, no_value);
  ADD_FAILURE() << op << " has no argument " << name;
  return {};
}

TEST(Convert, ScalarTypesAreDTypesAndLayoutsAreInts) {
  const c10::OperatorHandle empty = find_operator("aten::empty.memory_format");
  const auto& specs = empty.schema().arguments();
  const c10::IValue dtype(at::kBFloat16), layout(at::kStrided);
  EXPECT_EQ(std::get<DType>(to_argument(dtype, specs[1], no_tensor)), DType::kBFloat16);
  EXPECT_EQ(std::get<SymExpr>(to_argument(layout, specs[2], no_tensor)), SymExpr(0));
  EXPECT_EQ(round_trip("aten::empty.memory_format", "dtype", dtype).toScalarType(), at::kBFloat16);
}

TEST(Convert, ArgumentsOfEveryKindComeBack) {
  EXPECT_TRUE(round_trip("aten::sum", "dtype", c10::IValue()).isNone());
  EXPECT_EQ(round_trip("aten::add.Tensor", "alpha", c10::Scalar(2)).toScalar().toLong(), 2);
  EXPECT_TRUE(
      round_trip("aten::add.Tensor", "alpha", c10::Scalar(2.0)).toScalar().isFloatingPoint());
  EXPECT_EQ(round_trip("aten::gelu", "approximate", "tanh").toStringRef(), "tanh");
  EXPECT_EQ(round_trip("aten::permute", "dims", std::vector<int64_t>{1, 0}).toIntVector(),
            (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(round_trip("aten::permute", "dims", std::vector<int64_t>{}).isIntList());
  EXPECT_EQ(round_trip("aten::empty.memory_format", "device", c10::Device("cuda:1")).toDevice(),
            c10::Device("cuda:1"));
  EXPECT_EQ(
      round_trip("aten::convolution_backward", "output_mask", c10::List<bool>({true, false, true}))
          .toBoolList()
          .vec(),
      (std::vector<bool>{true, false, true}));
  EXPECT_EQ(round_trip("aten::bernoulli.p", "p", 0.25).toDouble(), 0.25);
}

TEST(Convert, ANumberWhereTheSchemaWantsATensorIsAWrappedNumber) {
  const c10::OperatorHandle add = find_operator("aten::add.Tensor");
  const c10::Argument& other = add.schema().arguments()[1];
  const at::Tensor tensor = to_ivalue(ArgumentValue(0.5), other, no_value).toTensor();
  EXPECT_TRUE(tensor.unsafeGetTensorImpl()->is_wrapped_number());
  EXPECT_EQ(std::get<double>(wrapped_number(tensor)), 0.5);
}

TEST(Convert, AGeneratorIsRefused) {
  const c10::OperatorHandle op = find_operator("aten::bernoulli.p");
  EXPECT_THROW(to_argument(at::detail::createCPUGenerator(), op.schema().arguments()[2], no_tensor),
               CaptureError);
}

TEST(Convert, TypesWithoutARowAreRefused) {
  EXPECT_THROW(to_dtype(at::kQInt8), CaptureError);
  EXPECT_THROW(to_device(c10::Device(c10::kXLA)), CaptureError);
}

TEST(Interpret, FlattensListsAndLeavesOutWhatIsUndefined) {
  Graph g;
  const TensorType row{DType::kFloat32, {}, {3}, {1}};
  const Value x = g.add_input("x", {DType::kFloat32, {}, {2, 3}, {3, 1}});
  Node* parts = g.add("aten::unbind.int", {{"self", x}, {"dim", SymExpr(0)}}, {row, row});
  g.set_outputs({parts->output(1), std::nullopt, x});
  const at::Tensor real = at::rand({2, 3});
  const auto outputs = interpret(g, {real});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_TRUE(outputs[0].equal(real[1]));
  EXPECT_FALSE(outputs[1].defined());
  EXPECT_TRUE(outputs[2].is_same(real));
}

TEST(Interpret, FreesAValueAtItsLastUse) {
  Graph g;
  const TensorType type{DType::kFloat32, {}, {2}, {1}};
  const Value x = g.add_input("x", type);
  Node* y = g.add("aten::neg", {{"self", x}}, {type});
  g.set_outputs({y->output(0)});
  at::Tensor real = at::rand({2});
  const c10::weak_intrusive_ptr<c10::TensorImpl> watch(real.getIntrusivePtr());
  std::vector<at::Tensor> inputs{std::move(real)};
  interpret(g, std::move(inputs));
  EXPECT_EQ(watch.use_count(), 0u);
}

TEST(Interpret, IsDifferentiableWhenGradModeIsOn) {
  Graph g;
  const TensorType type{DType::kFloat32, {}, {2}, {1}};
  const Value x = g.add_input("x", type);
  g.set_outputs({g.add("aten::exp", {{"self", x}}, {type})->output(0)});
  const at::Tensor real = at::rand({2}).requires_grad_();
  EXPECT_TRUE(interpret(g, {real})[0].requires_grad());
}

}  // namespace
}  // namespace aten_bridge
