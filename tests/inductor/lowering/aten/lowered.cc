#include "tests/inductor/lowering/aten/lowered.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {

using aten_bridge::str_cat;

namespace {

std::string numbers(at::IntArrayRef values) {
  std::string text;
  for (int64_t v : values) text += str_cat(text.empty() ? "" : ", ", v);
  return text;
}

Array array_of(const at::Tensor& t, const TensorType& type) {
  Array array = zeros(type);
  const at::Tensor flat = t.as_strided({t.numel()}, {1}).to(at::kDouble);
  for (int64_t i = 0; i < t.numel(); ++i) array.data[i].floating = flat[i].item<double>();
  return array;
}

}  // namespace

std::string type_text(const at::Tensor& t) {
  return str_cat(t.scalar_type() == at::kLong ? "i64" : "f32", "[", numbers(t.sizes()), "]{",
                 numbers(t.strides()), "}");
}

void expect_lowered(const std::string& inputs, const std::vector<at::Tensor>& values,
                    const std::string& calls, const std::vector<at::Tensor>& results) {
  const auto graph =
      aten_bridge::parse_graph(str_cat("graph 1 calls(", inputs, ") {\n", calls, "}\n"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  LoopProgram program = lower(*graph);
  ASSERT_TRUE(verify(program).ok()) << verify(program) << print(program);
  SCOPED_TRACE(print(program));
  run_passes(program);
  std::vector<Array> arrays;
  for (size_t i = 0; i < values.size(); ++i)
    arrays.push_back(array_of(values[i], graph->inputs()[i].type()));
  const std::vector<Array> outputs = evaluate(program, arrays);
  ASSERT_EQ(outputs.size(), results.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor want = results[i].contiguous().view({-1}).to(at::kDouble);
    const bool is_index = results[i].scalar_type() == at::kLong;
    for (int64_t k = 0; k < want.numel(); ++k) {
      const ScalarValue& got = outputs[i].data[k];
      const double value = is_index ? static_cast<double>(got.integer) : got.floating;
      const double expected = want[k].item<double>();
      if (value == expected || (std::isnan(expected) && std::isnan(value))) continue;
      ASSERT_NEAR(value, expected, 1e-5) << "output " << i << " at " << k;
    }
  }
}

}  // namespace inductor::testing
