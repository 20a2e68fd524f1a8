// Every lowering row, compiled, computes what LibTorch's own kernels do on the same device.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/interpret.h"
#include "inductor/compile.h"
#include "inductor/runtime/aten/run.h"
#include "tests/e2e/graph_on_device.h"

namespace inductor {
namespace {

using aten_bridge::Graph;
using aten_bridge::to_scalar_type;
using ::testing::ElementsAreArray;
using testing::on_test_device;

std::vector<int64_t> numbers(const std::vector<SymExpr>& exprs) {
  std::vector<int64_t> all;
  for (const SymExpr& e : exprs) all.push_back(e.as_constant());
  return all;
}

// Normal numbers; small integers that are good divisors and shifts; indices from 0 to 2.
at::Tensor random_input(const aten_bridge::Value& input) {
  const TensorType& type = input.type();
  const auto dtype = to_scalar_type(type.dtype);
  const bool is_index = input.node->name.starts_with("ids");
  at::Tensor tensor = at::empty_strided(numbers(type.sizes), numbers(type.strides), dtype);
  if (is_floating(type.dtype)) {
    tensor.copy_(at::randn(tensor.sizes()));
  } else {
    const int64_t low = is_index || type.dtype == DType::kBool ? 0 : 1;
    tensor.copy_(at::randint(low, type.dtype == DType::kBool ? 2 : low + 3, tensor.sizes()));
  }
  return tensor.to(test_device());
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-12;
    case DType::kFloat32:
      return 1e-5;
    case DType::kFloat16:
      return 1.0 / 1024;
    case DType::kBFloat16:
      return 1.0 / 128;
    default:
      return 0;
  }
}

void expect_same(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& want,
                 const Graph& graph) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = tolerance(graph.outputs()[i]->type().dtype);
    ASSERT_EQ(got[i].sizes(), want[i].sizes());
    EXPECT_EQ(got[i].strides(), want[i].strides());
    EXPECT_EQ(got[i].scalar_type(), want[i].scalar_type());
    EXPECT_EQ(got[i].device(), want[i].device());
    EXPECT_TRUE(at::allclose(got[i].to(at::kDouble), want[i].to(at::kDouble), allowed, allowed,
                             /*equal_nan=*/true))
        << got[i] << "\nis not\n"
        << want[i];
  }
}

// Sums by index would be made one by one on a GPU; ATen's kernels sort. Who lowers them there takes
// them from here.
bool is_left_to_aten(const std::string& op) {
  constexpr std::string_view kOnCuda[] = {"aten::scatter_add", "aten::index_add"};
  return !test_device().is_cpu() &&
         std::find(std::begin(kOnCuda), std::end(kOnCuda), op) != std::end(kOnCuda);
}

TEST(Conformance, EveryLoweringRowComputesWhatItsDevicesKernelDoes) {
  const std::vector<std::string> cases = testing::lowering_cases();
  std::vector<Graph> graphs;
  for (const std::string& one_case : cases) graphs.push_back(on_test_device(one_case));
  std::vector<const Graph*> pointers;
  for (const Graph& graph : graphs) pointers.push_back(&graph);
  const auto compiled = compile(pointers);
  ASSERT_TRUE(compiled.ok()) << std::string(compiled.status().message());
  torch::manual_seed(5);
  std::map<std::string, int> left_to_aten;
  for (size_t i = 0; i < graphs.size(); ++i) {
    SCOPED_TRACE(cases[i]);
    const std::string& op = graphs[i].nodes().front()->op;
    std::vector<at::Tensor> inputs;
    for (const auto& input : graphs[i].inputs()) inputs.push_back(random_input(input));
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> want;
    try {
      want = aten_bridge::interpret(graphs[i], inputs);
    } catch (const c10::Error&) {  // this device has no kernel for it
      EXPECT_ANY_THROW(run(*(*compiled)[i], inputs));
      continue;
    }
    const bool is_left = is_left_to_aten(op);
    left_to_aten[op] += is_left;
    EXPECT_THAT((*compiled)[i]->report.extern_calls,
                ElementsAreArray(std::vector<std::string>(is_left, op)));
    expect_same(run(*(*compiled)[i], inputs), want, graphs[i]);
  }
  for (const auto& [op, count] : left_to_aten)
    if (count)
      std::cout << op << " is ATen's own on " << test_device() << ": " << count << " cases\n";
}

// Kernels read and write 16 bytes at once; a tensor may begin anywhere.
TEST(Conformance, AnInputMayBeginAtAnyElement) {
  const Graph graph =
      on_test_device("x: f32[64], y: f32[64] | f32[64] | aten::add.Tensor(x, other=y, alpha=2)");
  const Graph* pointers[] = {&graph};
  const auto compiled = compile(pointers);
  ASSERT_TRUE(compiled.ok());
  const at::Tensor all = at::randn({80}).to(test_device());
  for (int64_t offset = 0; offset < 8; ++offset) {
    const at::Tensor x = all.slice(0, offset, offset + 64), y = all.slice(0, 9, 73);
    EXPECT_TRUE(run(*compiled->at(0), {x, y})[0].equal(x.add(y, 2))) << offset;
  }
}

}  // namespace
}  // namespace inductor
