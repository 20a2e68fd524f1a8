// Under numerics=eager, pointwise results have the bits of LibTorch's own kernels on the same
// device: every pointwise row, over its dtypes, in rows that vectors cover and in elements that lie
// apart.
#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/interpret.h"
#include "inductor/compile.h"
#include "inductor/lowering/row.h"
#include "inductor/runtime/aten/run.h"
#include "tests/e2e/graph_on_device.h"
#include "torchdyn/compile.h"

namespace inductor {
namespace {

using aten_bridge::Graph;
using aten_bridge::Numerics;
using aten_bridge::to_scalar_type;
using testing::on_test_device;

// ---- Cases ----

enum class Layout : uint8_t { kRows, kApart };

struct Case {
  std::string text;
  Layout layout;
};

const std::regex kType(R"(\b(u8|i8|i16|i32|i64|f16|bf16|f32|f64|bool)\[([^\]]*)\](\{[^}]*\})?)");

// Each type of a text, remade by f(dtype, sizes).
template <class F>
std::string with_types(const std::string& text, F f) {
  std::string out;
  auto last = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), kType), end; it != end; ++it) {
    out.append(last, text.begin() + it->position());
    out += f((*it)[1].str(), (*it)[2].str());
    last = text.begin() + it->position() + it->length();
  }
  return out.append(last, text.end());
}

// Thousands of elements, every pattern of a half type where there is one operand; no multiple of a
// vector's width.
std::string enlarged(const std::string& text) {
  const auto types =
      std::distance(std::sregex_iterator(text.begin(), text.begin() + text.find('|'), kType), {});
  const std::string row = "65543", few = types == 1 ? "1" : "5";
  const bool six = std::regex_search(text, std::regex("\\b6\\]"));
  return with_types(text, [&](const std::string& dtype, const std::string& sizes) {
    std::string larger = ", " + sizes;
    larger = std::regex_replace(larger, std::regex(six ? "\\b6\\b" : "\\b40\\b"), row);
    larger = std::regex_replace(larger, std::regex("\\b4\\b"), few);
    return dtype + "[" + larger.substr(2) + "]";
  });
}

std::set<std::string> dtypes_in(const std::string& text) {
  std::set<std::string> found;
  with_types(text, [&](const std::string& dtype, const std::string&) {
    found.insert(dtype);
    return "";
  });
  return found;
}

// The case and its like on other dtypes: of float32 on all floating ones, of int64 alone on all
// integers.
std::vector<std::string> on_other_dtypes(const std::string& text) {
  std::vector<std::string> all = {text};
  const std::set<std::string> dtypes = dtypes_in(text);
  const auto has = [&](const char* dtype) { return dtypes.count(dtype) > 0; };
  const auto add = [&](const std::string& from, const std::string& to) {
    all.push_back(with_types(text, [&](const std::string& dtype, const std::string& sizes) {
      return (dtype == from ? to : dtype) + "[" + sizes + "]";
    }));
  };
  if (has("f32") && !has("f64") && !has("bf16") && !has("f16"))
    for (const char* dtype : {"f64", "bf16", "f16"}) add("f32", dtype);
  if (dtypes == std::set<std::string>{"i64"} || dtypes == std::set<std::string>{"i64", "bool"})
    for (const char* dtype : {"i32", "i16", "i8", "u8"}) add("i64", dtype);
  return all;
}

// Numbers that are not powers of two: where a product is rounded shows.
constexpr std::string_view kMoreCases[] = {
    "x: f32[6], y: f32[6] | f32[6] | aten::add.Tensor(x, other=y, alpha=0.3)",
    "x: f32[6], y: f32[6] | f32[6] | aten::sub.Tensor(x, other=y, alpha=0.3)",
    "x: f32[6], y: f32[6] | f32[6] | aten::rsub.Tensor(x, other=y, alpha=0.3)",
    "x: f32[6] | f32[6] | aten::add.Scalar(x, other=1.7, alpha=0.3)",
    "x: f32[6] | f32[6] | aten::sub.Scalar(x, other=1.7, alpha=0.3)",
    "x: f32[6] | f32[6] | aten::rsub.Scalar(x, other=1.7, alpha=0.3)",
    "x: f32[6] | f32[6] | aten::add.Scalar(x, other=1.7, alpha=1)",
    "x: f32[6] | f32[6] | aten::rsub.Scalar(x, other=1.7, alpha=1)",
    "x: f32[6] | f32[6] | aten::mul.Scalar(x, other=0.3)",
    "x: f32[6] | f32[6] | aten::div.Scalar(x, other=0.3)",
    "x: f32[6], y: f32[] | f32[6] | aten::mul.Tensor(x, other=y)",
    "x: f32[6], y: f32[] | f32[6] | aten::div.Tensor(x, other=y)",
    "x: f32[6], y: f32[6], z: f32[6] | f32[6] | aten::addcmul(x, tensor1=y, tensor2=z, value=0.3)",
    "x: f32[6], y: f32[6], z: f32[6] | f32[6] | aten::addcdiv(x, tensor1=y, tensor2=z, value=0.3)",
    "x: f32[6], y: f32[6] | f32[6] | aten::lerp.Scalar(x, end=y, weight=0.3)",
    "x: f32[6] | f32[6] | aten::leaky_relu(x, negative_slope=0.3)",
    "x: f32[6] | f32[6] | aten::rad2deg(x)",
    "x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=3)",
    "x: f32[6], y: f32[6] | f32[6] | aten::ldexp.Tensor(x, other=y)",
    "x: i64[6], y: i64[6] | i64[6] | aten::add.Tensor(x, other=y, alpha=3)",
};

// Whether each element of the result is made of the operands' elements at its place.
bool is_elementwise(const std::string& op) {
  for (LoweringRows family : {pointwise_rows(), activation_rows(), special_rows()})
    for (const LoweringRow& row : family)
      if (row.op == op) return true;
  return false;
}

// ATen's kernel on CUDA adds by atomics: its own results differ from run to run.
bool varies(const std::string& op) {
  return test_device().is_cuda() && op.find("reflection_pad") != std::string::npos;
}

bool is_special(const std::string& op) {
  for (const LoweringRow& row : special_rows())
    if (row.op == op) return true;
  return false;
}

std::vector<Case> pointwise_cases(bool special) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  std::vector<std::string> all = testing::lowering_cases();
  all.insert(all.end(), std::begin(kMoreCases), std::end(kMoreCases));
  for (const std::string& one : all) {
    const std::string op = testing::graph_of(one).nodes().front()->op;
    if (kind_of(op) != OpKind::kPointwise || is_special(op) != special || varies(op)) continue;
    const bool elementwise = is_elementwise(op);
    for (const std::string& text : on_other_dtypes(elementwise ? enlarged(one) : one)) {
      if (!seen.insert(text).second) continue;
      cases.push_back({text, Layout::kRows});
      if (elementwise) cases.push_back({text, Layout::kApart});
    }
  }
  return cases;
}

// The inputs lie apart: strides are doubled.
Graph graph_of(const Case& one) {
  if (one.layout == Layout::kRows) return on_test_device(one.text);
  const size_t bar = one.text.find(" | ");
  const std::string inputs =
      with_types(one.text.substr(0, bar), [](const std::string& dtype, const std::string& sizes) {
        std::vector<int64_t> numbers;
        for (absl::string_view size : absl::StrSplit(sizes, ", ", absl::SkipEmpty()))
          numbers.push_back(std::stoll(std::string(size)));
        std::string strides;
        int64_t stride = 2;
        for (size_t d = numbers.size(); d-- > 0; stride *= numbers[d])
          strides = std::to_string(stride) + (strides.empty() ? "" : ", ") + strides;
        return dtype + "[" + sizes + "]" + (numbers.empty() ? "" : "{" + strides + "}");
      });
  return on_test_device(inputs + one.text.substr(bar));
}

// ---- Values ----

std::vector<int64_t> numbers(const std::vector<SymExpr>& exprs) {
  std::vector<int64_t> all;
  for (const SymExpr& e : exprs) all.push_back(e.as_constant());
  return all;
}

at::Tensor every_half(at::IntArrayRef sizes, at::ScalarType dtype) {
  const int64_t count = c10::multiply_integers(sizes);
  const at::Tensor bits = at::arange(count).remainder(65536).sub(32768).to(at::kShort);
  return bits.view(dtype).view(sizes);
}

// Numbers of all magnitudes, most of them near 1, a tenth of them special. `small`: none that is
// far from 1 (a recurrence would never end).
at::Tensor random_floats(at::IntArrayRef sizes, at::ScalarType dtype, bool small) {
  const double top = dtype == at::kHalf ? 65504 : 1e38, least = dtype == at::kHalf ? 6e-8 : 1e-45;
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor specials =
      at::tensor({0.0,    -0.0,  infinity, -infinity, std::nan(""), 1.0,   -1.0, 0.5,     -0.5,
                  2.0,    -2.0,  3.0,      6.0,       -3.0,         20.0,  0.1,  0.75,    top,
                  -top,   least, -least,   5e-324,    1e-310,       1e-40, M_PI, -M_PI_2, 88.0,
                  -104.0, 5.5,   -7.0,     1.5,       2.5,          9.0,   10.0},
                 at::kDouble);
  const at::Tensor wide =
      at::randn(sizes, at::kDouble).mul(at::pow(2.0, at::randint(-30, 30, sizes).to(at::kDouble)));
  const at::Tensor near = at::randn(sizes, at::kDouble).mul(3);
  const at::Tensor picked = specials.index({at::randint(specials.numel(), sizes)});
  const at::Tensor kind = at::randint(10, sizes);
  if (small) return at::where(kind.le(1), picked.clamp(-30, 30), near).to(dtype);
  return at::where(kind.eq(0), picked, at::where(kind.le(2), wide, near)).to(dtype);
}

at::Tensor random_integers(at::IntArrayRef sizes, at::ScalarType dtype) {
  const at::Tensor all =
      at::randint(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), sizes);
  return at::where(at::randint(2, sizes).eq(0), all, at::randint(-9, 10, sizes)).to(dtype);
}

at::Tensor random_input(const aten_bridge::Value& input, bool alone, bool small) {
  const TensorType& type = input.type();
  const auto dtype = to_scalar_type(type.dtype);
  const std::vector<int64_t> sizes = numbers(type.sizes);
  at::Tensor values;
  if (input.node->name.starts_with("ids"))
    values = at::randint(3, sizes);
  else if (input.node->name == "n")  // a degree or an exponent
    values = at::randint(-2, 40, sizes);
  else if (type.dtype == DType::kBool)
    values = at::randint(2, sizes).to(at::kBool);
  else if (!is_floating(type.dtype))
    values = random_integers(sizes, dtype);
  else
    values = alone && !small && size_in_bytes(type.dtype) == 2 ? every_half(sizes, dtype)
                                                               : random_floats(sizes, dtype, small);
  const auto options = at::TensorOptions(dtype).device(test_device());
  return at::empty_strided(sizes, numbers(type.strides), options).copy_(values);
}

// ---- Bits ----

// Where bits differ; NaN is NaN.
at::Tensor different(const at::Tensor& a, const at::Tensor& b) {
  constexpr at::ScalarType kBits[] = {at::kByte, at::kShort, at::kInt, at::kLong};
  const auto bits = kBits[static_cast<int>(std::log2(a.element_size()))];
  at::Tensor same = a.contiguous().view(bits).eq(b.contiguous().view(bits));
  if (a.is_floating_point()) same = same.logical_or(a.isnan().logical_and(b.isnan()));
  return same.logical_not();
}

std::string first_difference(const std::vector<at::Tensor>& inputs, const at::Tensor& got,
                             const at::Tensor& want) {
  const at::Tensor differ = different(got, want).view({-1});
  if (!differ.any().item<bool>()) return "";
  const int64_t at = differ.to(at::kInt).argmax().item<int64_t>();
  std::ostringstream text;
  text.precision(17);
  for (const at::Tensor& input : inputs)
    if (at::is_expandable_to(input.sizes(), want.sizes()))
      text << input.expand(want.sizes()).reshape({-1})[at].item<double>() << ", ";
  text << "gives " << got.reshape({-1})[at].item<double>() << ", eager "
       << want.reshape({-1})[at].item<double>();
  return text.str();
}

struct Outcome {
  bool raises = false, is_extern = false;
  int64_t different = 0, elements = 0;
  std::string example;
};

Outcome compare(const Graph& graph, const CompiledGraph& compiled) {
  Outcome outcome;
  std::vector<at::Tensor> inputs, want;
  const bool alone = graph.inputs().size() == 1;
  for (const auto& input : graph.inputs())
    inputs.push_back(random_input(input, alone, is_special(graph.nodes().front()->op)));
  try {
    want = aten_bridge::interpret(graph, inputs);
  } catch (const c10::Error&) {  // no kernel for this dtype
    outcome.raises = true;
    return outcome;
  }
  if (to_scalar_type(graph.outputs()[0]->type().dtype) != want[0].scalar_type()) {
    outcome.raises = true;  // the case's result is of another dtype here
    return outcome;
  }
  outcome.is_extern = !compiled.report.extern_calls.empty();
  const std::vector<at::Tensor> got = run(compiled, inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    TD_CHECK(got[i].sizes() == want[i].sizes() && got[i].dtype() == want[i].dtype());
    const int64_t count = different(got[i], want[i]).sum().item<int64_t>();
    outcome.elements += want[i].numel();
    outcome.different += count;
    if (count > 0 && outcome.example.empty())
      outcome.example = first_difference(inputs, got[i], want[i]);
  }
  return outcome;
}

// ---- Tests ----

void expect_eagers_bits(const std::vector<Case>& cases) {
  std::vector<Graph> graphs;
  for (const Case& one : cases) graphs.push_back(graph_of(one));
  std::vector<const Graph*> pointers;
  for (const Graph& graph : graphs) pointers.push_back(&graph);
  const auto compiled = compile(pointers, Numerics::kEager);
  ASSERT_TRUE(compiled.ok()) << std::string(compiled.status().message());
  torch::manual_seed(5);
  const at::NoGradGuard no_grad;
  int fused = 0, left = 0, raising = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome outcome = compare(graphs[i], *(*compiled)[i]);
    (outcome.raises ? raising : outcome.is_extern ? left : fused)++;
    EXPECT_EQ(outcome.different, 0)
        << cases[i].text << (cases[i].layout == Layout::kRows ? "" : ", apart") << ": of "
        << outcome.elements << " elements; " << outcome.example;
  }
  std::cout << cases.size() << " cases: " << fused << " in kernels, " << left << " left to ATen, "
            << raising << " that ATen has no kernel for\n";
}

TEST(EagerNumerics, EveryPointwiseRowHasEagersBits) { expect_eagers_bits(pointwise_cases(false)); }

TEST(EagerNumerics, EverySpecialFunctionHasEagersBits) {
  expect_eagers_bits(pointwise_cases(true));
}

// ---- Several operators in one kernel ----

struct Random {
  uint64_t state;
  size_t below(size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
};

// $0 and $1 are values that were computed before.
constexpr std::string_view kSteps[] = {
    "aten::neg($0)",
    "aten::relu($0)",
    "aten::sigmoid($0)",
    "aten::tanh($0)",
    "aten::silu($0)",
    "aten::exp($0)",
    "aten::hardswish($0)",
    "aten::reciprocal($0)",
    "aten::mul.Scalar($0, other=0.3)",
    "aten::add.Scalar($0, other=1.7, alpha=1)",
    "aten::add.Tensor($0, other=$1, alpha=1)",
    "aten::add.Tensor($0, other=$1, alpha=0.3)",
    "aten::sub.Tensor($0, other=$1, alpha=1)",
    "aten::mul.Tensor($0, other=$1)",
    "aten::div.Tensor($0, other=$1)",
    "aten::maximum($0, other=$1)",
    "aten::lerp.Scalar($0, end=$1, weight=0.3)",
    "aten::tanh_backward(grad_output=$0, output=$1)",
    "aten::silu_backward(grad_output=$0, $1)",
};

std::string chain_text(const std::string& dtype, uint64_t seed) {
  const std::string device = test_device().is_cpu() ? "" : "@" + test_device().str();
  const std::string type = dtype + "[4099]" + device;
  std::string text = "graph 1 chain(x: " + type + ", y: " + type + ") {\n";
  std::vector<std::string> values = {"x", "y"};
  Random random{seed};
  for (int step = 0; step < 9; ++step) {
    const std::string call(kSteps[random.below(std::size(kSteps))]);
    const std::string last = values.back(), other = values[random.below(values.size())];
    values.push_back("%" + std::to_string(step));
    text += "  " + values.back() + ": " + type + " = " +
            absl::StrReplaceAll(call, {{"$0", last}, {"$1", other}}) + "\n";
  }
  return text + "  return " + values.back() + "\n}\n";
}

TEST(EagerNumerics, ChainsOfOperatorsHaveEagersBits) {
  std::vector<std::string> texts;
  for (const char* dtype : {"bf16", "f16", "f32", "f64"})
    for (uint64_t seed = 0; seed < 12; ++seed) texts.push_back(chain_text(dtype, seed));
  std::vector<Graph> graphs;
  std::vector<const Graph*> pointers;
  for (const std::string& text : texts) {
    auto graph = aten_bridge::parse_graph(text);
    ASSERT_TRUE(graph.ok()) << std::string(graph.status().message()) << text;
    graphs.push_back(*std::move(graph));
  }
  for (const Graph& graph : graphs) pointers.push_back(&graph);
  const auto compiled = compile(pointers, Numerics::kEager);
  ASSERT_TRUE(compiled.ok()) << std::string(compiled.status().message());
  torch::manual_seed(7);
  const at::NoGradGuard no_grad;
  size_t most = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const Outcome outcome = compare(graphs[i], *(*compiled)[i]);
    EXPECT_FALSE(outcome.raises);
    EXPECT_EQ(outcome.different, 0) << texts[i] << outcome.example;
    for (const KernelReport& kernel : (*compiled)[i]->report.kernels)
      most = std::max(most, kernel.origins.size());
  }
  EXPECT_GE(most, 4u) << "nothing was fused";
}

TEST(EagerNumerics, BackwardOfActivationsHasEagersBits) {
  using at::Tensor;
  const std::pair<const char*, Tensor (*)(const Tensor&)> kActivations[] = {
      {"gelu", [](const Tensor& x) { return at::gelu(x); }},
      {"gelu, tanh", [](const Tensor& x) { return at::gelu(x, "tanh"); }},
      {"silu", [](const Tensor& x) { return at::silu(x); }},
      {"softplus", [](const Tensor& x) { return at::softplus(x); }},
      {"tanh", [](const Tensor& x) { return at::tanh(x); }},
      {"sigmoid", [](const Tensor& x) { return at::sigmoid(x); }},
      {"relu", [](const Tensor& x) { return at::relu(x); }},
      {"elu", [](const Tensor& x) { return at::elu(x); }},
      {"leaky_relu", [](const Tensor& x) { return at::leaky_relu(x, 0.1); }},
      {"hardswish", [](const Tensor& x) { return at::hardswish(x); }},
      {"mish", [](const Tensor& x) { return at::mish(x); }},
      {"hardshrink", [](const Tensor& x) { return at::hardshrink(x); }},
  };
  torchdyn::Options options;
  options.set("numerics", "eager");
  options.fullgraph = true;
  for (const auto& [name, activation] : kActivations)
    for (at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
      SCOPED_TRACE(std::string(name) + " of " + at::toString(dtype));
      const auto f = [activation = activation](const Tensor& x, const Tensor& w) {
        return activation(x * w + x) * w;
      };
      auto compiled = torchdyn::compile(f, options);
      const Tensor x = at::randn({4099}).mul(3).to(dtype).to(test_device());
      const Tensor w = at::randn({4099}).to(dtype).to(test_device()), g = at::randn_like(x);
      const auto run = [&](auto& function) {
        const Tensor a = x.clone().requires_grad_(), b = w.clone().requires_grad_();
        const Tensor y = function(a, b);
        y.backward(g);
        return std::array{y.detach(), a.grad(), b.grad()};
      };
      const auto got = run(compiled), want = run(f);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_FALSE(different(got[i], want[i]).any().item<bool>())
            << (i == 0 ? "result " : "gradient ") << first_difference({}, got[i], want[i]);
    }
}

TEST(EagerNumerics, WhatIsDecomposedOtherwiseStaysOneCall) {
  torchdyn::Options options;
  options.numerics = Numerics::kEager;
  const auto f = [](const at::Tensor& x) { return at::log_sigmoid(x); };
  auto compiled = torchdyn::compile(f, options);
  const at::Tensor x = at::randn({4099}).to(test_device());
  EXPECT_FALSE(different(compiled(x), f(x)).any().item<bool>());
  const auto variant = compiled.explain().variants.at(0);
  EXPECT_EQ(variant.eager_reason, "");
  EXPECT_EQ(variant.graphs.at(0).extern_calls.size(), 1u);
}

}  // namespace
}  // namespace inductor
