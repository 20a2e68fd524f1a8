// Runs a program in eager and as its captured joint graph, and compares all that can be seen of it.
//   expect_same_as_eager({{"x", x}, {"w", w}}, [](const Tensors& t) { return
//   Tensors{t[0].mm(t[1])}; });
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/interpret.h"

namespace aten_bridge {

using Named = std::vector<std::pair<std::string, at::Tensor>>;

inline Captured capture_named(const Named& inputs, const TracedCallable& program) {
  Tensors tensors;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : inputs) {
    tensors.push_back(tensor);
    names.push_back(name);
  }
  return capture({tensors, names}, program);
}

inline std::vector<int64_t> constants(const std::vector<SymExpr>& sizes) {
  std::vector<int64_t> values;
  for (const SymExpr& size : sizes) values.push_back(size.as_constant());
  return values;
}

// Copies with the same strides and requires_grad; leaves.
inline Tensors copies(const Named& inputs) {
  Tensors result;
  for (const auto& [name, tensor] : inputs) {
    at::Tensor copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
    copy.copy_(tensor.detach());
    result.push_back(copy.requires_grad_(tensor.requires_grad()));
  }
  return result;
}

// What a program leaves behind: results, inputs afterwards, gradients.
struct Outcome {
  Tensors results, inputs, grads;
};

inline at::Tensor tangent_for(const at::Tensor& result, size_t i) {
  return at::linspace(0.5 + i, 1.5 + i, std::max<int64_t>(result.numel(), 1),
                      result.options().requires_grad(false))
      .slice(0, 0, result.numel())
      .view(result.sizes());
}

// Gradients of results that carry one, with tangents as tangent_for makes them.
inline Tensors gradients_of(const Tensors& results, const Tensors& inputs) {
  Tensors outputs, tangents, leaves, grads(inputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !results[i].requires_grad() || results[i].is_leaf()) continue;
    outputs.push_back(results[i]);
    tangents.push_back(tangent_for(results[i], i));
  }
  std::vector<size_t> where;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    leaves.push_back(inputs[i]);
    where.push_back(i);
  }
  if (outputs.empty() || leaves.empty()) return grads;
  const Tensors found = torch::autograd::grad(outputs, leaves, tangents, /*retain_graph=*/{},
                                              /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < found.size(); ++i) grads[where[i]] = found[i];
  return grads;
}

inline Outcome run_eager(const Named& inputs, const TracedCallable& program) {
  const Tensors real = copies(inputs);
  Outcome outcome;
  outcome.results = program(real);
  outcome.inputs = real;
  outcome.grads = gradients_of(outcome.results, real);
  return outcome;
}

// The joint graph as an autograd function: interpret it once for the values, once more with
// tangents.
inline Outcome run_graph(const Named& inputs, const Captured& captured) {
  const at::NoGradGuard no_grad;
  const Joint& joint = captured.joint;
  const Tensors real = copies(inputs);
  Tensors arguments;
  for (const at::Tensor& t : real) arguments.push_back(t.detach());
  size_t tangent = 0;
  std::vector<size_t> result_of_graph(joint.results, 0);
  for (size_t i = 0; i < captured.results.size(); ++i)
    if (captured.results[i].kind == ResultSource::Kind::kGraph)
      result_of_graph[captured.results[i].index] = i;
  for (int r = 0; r < joint.results; ++r) {
    if (!captured.differentiable[r]) continue;
    const TensorType& type = joint.graph.inputs()[joint.primals + tangent++].type();
    arguments.push_back(tangent_for(
        at::empty(constants(type.sizes), real[0].options().dtype(to_scalar_type(type.dtype))),
        result_of_graph[r]));
  }
  const Tensors outputs = interpret(joint.graph, arguments);

  Outcome outcome;
  for (const Mutation& m : captured.mutations) arguments[m.input].copy_(outputs[m.result]);
  for (const ResultSource& source : captured.results) {
    switch (source.kind) {
      case ResultSource::Kind::kUndefined:
        outcome.results.emplace_back();
        break;
      case ResultSource::Kind::kGraph:
        outcome.results.push_back(outputs[source.index]);
        break;
      case ResultSource::Kind::kInput:
        outcome.results.push_back(arguments[source.index]);
        break;
      case ResultSource::Kind::kViewOfInput:
      case ResultSource::Kind::kViewOfGraph: {
        const at::Tensor base = source.kind == ResultSource::Kind::kViewOfInput
                                    ? arguments[source.index]
                                    : outputs[source.index];
        outcome.results.push_back(
            base.as_strided(constants(source.sizes), constants(source.strides),
                            base.storage_offset() + source.offset.as_constant()));
        break;
      }
    }
  }
  outcome.inputs = {arguments.begin(), arguments.begin() + joint.primals};
  outcome.grads.resize(joint.primals);
  if (joint.tangents > 0)
    for (int i = 0; i < joint.primals; ++i) outcome.grads[i] = outputs[joint.results + i];
  return outcome;
}

inline void expect_equal(const Tensors& want, const Tensors& got, const std::string& what) {
  ASSERT_EQ(want.size(), got.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].defined(), got[i].defined()) << what << " " << i;
    if (!want[i].defined()) continue;
    EXPECT_EQ(want[i].dtype(), got[i].dtype()) << what << " " << i;
    ASSERT_EQ(want[i].sizes(), got[i].sizes()) << what << " " << i;
    if (what != "gradient" || want[i].is_non_overlapping_and_dense()) {
      EXPECT_EQ(want[i].strides(), got[i].strides()) << what << " " << i;
    }
    if (want[i].numel() == 0) continue;
    const at::ScalarType wide = want[i].is_complex() ? at::kComplexDouble : at::kDouble;
    const at::Tensor exact = want[i].detach().to(wide);
    const double scale = std::max(1.0, exact.abs().max().item<double>());
    const double error = (exact - got[i].to(wide)).abs().max().item<double>();
    EXPECT_LE(error, 1e-6 * scale) << what << " " << i;
  }
}

// Every value that the interpreter makes has the type that the graph says.
inline void expect_same_as_eager(const Named& inputs, const TracedCallable& program) {
  const Captured captured = capture_named(inputs, program);
  SCOPED_TRACE(print(captured.joint.graph));
  torch::manual_seed(7);
  const Outcome want = run_eager(inputs, program);
  torch::manual_seed(7);
  const Outcome got = run_graph(inputs, captured);
  expect_equal(want.results, got.results, "result");
  expect_equal(want.inputs, got.inputs, "input");
  expect_equal(want.grads, got.grads, "gradient");
}

inline std::string refusal_of(const Named& inputs, const TracedCallable& program) {
  try {
    return "captured: " + print(capture_named(inputs, program).joint.graph);
  } catch (const CaptureError& error) {
    return error.what();
  }
}

}  // namespace aten_bridge
