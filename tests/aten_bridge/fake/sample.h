// Sample calls of operators: what a kernel gives on real CPU tensors against what capture says of
// it. Calls are C++ here, or text in tests/golden/aten_bridge/fake that make_samples.py wrote.
//   expect_agrees("aten::mm", {randn({2, 3}), randn({3, 4})});
#pragma once

#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/fake/infer.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "tests/support/golden.h"

namespace aten_bridge {

using BoxedArgs = std::vector<c10::IValue>;

struct Sample {
  std::string_view op;
  BoxedArgs (*args)();  // real CPU tensors
};

inline std::string geometry(const at::Tensor& t) {
  std::ostringstream out;
  if (t.defined())
    out << t.scalar_type() << t.sizes() << t.strides();
  else
    out << "undefined";
  return out.str();
}

inline std::string geometry(const std::vector<c10::IValue>& results) {
  std::string text;
  for (const c10::IValue& result : results) {
    if (result.isTensorList()) {
      for (const at::Tensor& t : result.toTensorVector()) text += geometry(t) + " ";
    } else if (result.isTensor()) {
      text += geometry(result.toTensor()) + " ";
    } else {
      text += "number ";
    }
  }
  return text;
}

// The operator on real tensors, then its rule or Meta kernel on fakes of them.
inline void expect_agrees(std::string_view op_name, const BoxedArgs& args) {
  const c10::OperatorHandle op = find_operator(op_name);
  std::vector<c10::IValue> fakes = args, real = args;
  Graph graph;
  map_tensors(fakes, [&](const at::Tensor& t) {
    const Value value = graph.add_input("x", TensorType{});
    return make_fake(meta_twin_of_real(t), t.device(), value);
  });
  op.callBoxed(&real);
  const Inferred inferred = infer(op, find_shape_source(op), fakes);
  EXPECT_EQ(geometry(inferred.results), geometry(real)) << op_name;
}

// A call as a graph of one node, whose types are eager's: the operator on fakes of the inputs.
inline void expect_agrees_with_text(const std::string& text) {
  const absl::StatusOr<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  const Node& node = *graph->nodes().front();
  const c10::OperatorHandle op = find_operator(node.op);
  const auto& specs = op.schema().arguments();
  ASSERT_EQ(specs.size(), node.args.size()) << text;
  const auto fake_of = [](Value value) {
    return make_fake(meta_tensor(value.type()), to_c10_device(value.type().device), value);
  };
  BoxedArgs args;
  for (size_t i = 0; i < specs.size(); ++i)
    args.push_back(to_ivalue(node.args[i].value, specs[i], fake_of));
  std::vector<std::string> expected, actual;
  for (const auto& type : node.outputs) expected.push_back(type ? print(*type) : "none");
  const Inferred inferred = infer(op, find_shape_source(op), args);
  for (const c10::IValue& result : inferred.results) {
    const auto tensors = result.isTensorList()
                             ? result.toTensorVector()
                             : std::vector{result.isTensor() ? result.toTensor() : at::Tensor()};
    for (const at::Tensor& tensor : tensors)
      actual.push_back(tensor.defined() ? print(type_of(tensor, Device{})) : "none");
  }
  EXPECT_EQ(actual, expected) << text;
}

// The calls in tests/golden/aten_bridge/fake.
inline std::vector<std::string> call_texts(std::string_view op) {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> texts;
    for (const auto& golden : torchdyn::testing::goldens("aten_bridge/fake"))
      for (absl::string_view text : absl::StrSplit(golden.section("calls"), "\n\n"))
        texts.emplace_back(text);
    return texts;
  }();
  std::vector<std::string> found;
  for (const std::string& text : all)
    if (absl::StrContains(text, str_cat(" ", op, "("))) found.push_back(text);
  return found;
}

// Calls made up from the schema: every tensor argument by `make`, numbers, and defaults.
inline BoxedArgs made_up(std::string_view op_name, const std::vector<at::Tensor>& tensors) {
  const c10::OperatorHandle op = find_operator(op_name);
  BoxedArgs args;
  size_t next = 0;
  for (const c10::Argument& spec : op.schema().arguments()) {
    if (spec.default_value()) {
      args.push_back(*spec.default_value());
    } else if (spec.type()->kind() == c10::TypeKind::TensorType) {
      args.emplace_back(tensors[next++ % tensors.size()]);
    } else if (spec.type()->kind() == c10::TypeKind::NumberType) {
      args.emplace_back(c10::Scalar(2));
    } else if (spec.type()->kind() == c10::TypeKind::FloatType) {
      args.emplace_back(0.5);
    } else if (spec.type()->kind() == c10::TypeKind::IntType) {
      args.emplace_back(int64_t{1});
    } else if (spec.type()->kind() == c10::TypeKind::BoolType) {
      args.emplace_back(false);
    } else if (spec.type()->kind() == c10::TypeKind::StringType) {
      args.emplace_back(std::string("floor"));
    } else {
      args.emplace_back();
    }
  }
  return args;
}

// Operands of several layouts and dtypes.
inline std::vector<std::vector<at::Tensor>> operand_lists() {
  const at::Tensor x = at::rand({2, 3, 4}), y = at::rand({2, 3, 4});
  return {{x, y, x},
          {x.permute({2, 0, 1}), y.permute({2, 0, 1}), x.permute({2, 0, 1})},
          {x, at::rand({3, 1}), at::rand({})},
          {x.slice(2, 0, 4, 2), y.slice(2, 0, 4, 2), x.slice(2, 0, 4, 2)},
          {x.expand({5, 2, 3, 4}), y, x},
          {at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast), at::rand({3, 1, 1})},
          {x.to(at::kBFloat16), y},
          {at::ones({2, 3}, at::kLong), at::ones({3}, at::kLong)},
          {at::ones({2, 3}, at::kLong), at::rand({3})},
          {at::ones({2, 3}, at::kBool), at::ones({3}, at::kBool)},
          {at::rand({0, 3}), at::rand({3})}};
}

// Compares every made-up call that the CPU accepts; false when it accepts none.
inline bool expect_elementwise_agrees(std::string_view op) {
  bool any = false;
  for (const auto& operands : operand_lists()) {
    const BoxedArgs args = made_up(op, operands);
    try {
      std::vector<c10::IValue> stack = args;
      find_operator(op).callBoxed(&stack);
    } catch (const c10::Error&) {
      continue;
    }
    any = true;
    SCOPED_TRACE(geometry(args));
    expect_agrees(op, args);
  }
  return any;
}

// Every sample of the operator, or, where it has none, elementwise calls.
inline void expect_all_agree(std::span<const Sample> samples, std::string_view op) {
  bool sampled = false;
  for (const Sample& sample : samples) {
    if (sample.op != op) continue;
    sampled = true;
    expect_agrees(sample.op, sample.args());
  }
  for (const std::string& text : call_texts(op)) {
    sampled = true;
    expect_agrees_with_text(text);
  }
  if (!sampled) sampled = expect_elementwise_agrees(op);
  EXPECT_TRUE(sampled) << op << " has no sample";
}

// "aten::add.Tensor" as a test's name.
inline std::string operator_test_name(const testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param.substr(6));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

}  // namespace aten_bridge
