#include "aten_bridge/decompose/decompose.h"

#include <algorithm>
#include <limits>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Formatting.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/interpret.h"
#include "tests/aten_bridge/decompose/samples.h"

namespace aten_bridge {
namespace {

std::vector<Decomposition> every_row() {
  std::vector<Decomposition> rows;
  for (auto family : decomposition_families())
    rows.insert(rows.end(), family.begin(), family.end());
  return rows;
}

std::string test_name(const Decomposition& row) {
  std::string name(row.op.substr(6));
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

void seed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(7);
}

// Results in order, lists opened, undefined ones among them.
Tensors opened(const Stack& results) {
  Tensors all;
  for (const c10::IValue& result : results) {
    if (result.isTensorList()) {
      for (const at::Tensor& t : result.toTensorVector()) all.push_back(t);
    } else {
      all.push_back(result.toTensor());
    }
  }
  return all;
}

Tensors eager(std::string_view op, Stack stack) {
  if (const Reference reference = reference_of(op)) return reference(stack);
  seed();
  find_operator(op).callBoxed(stack);
  return opened(stack);
}

Tensors decomposed(const Decomposition& row, Stack stack) {
  seed();
  row.run(stack);
  return opened(stack);
}

double epsilon(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kBFloat16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// What is finite, in float64; zero elsewhere.
at::Tensor finite_part(const at::Tensor& x, const at::Tensor& finite) {
  return x.to(at::kDouble).masked_fill(finite.logical_not(), 0);
}

// The largest error of `x`, in units of the largest value.
double worst_error(const at::Tensor& x, const at::Tensor& truth) {
  if (!x.is_floating_point() || x.numel() == 0) return 0;
  const at::Tensor finite = x.isfinite(), t = finite_part(truth, finite);
  const double scale = t.abs().max().item<double>();
  return scale == 0 ? 0 : finite_part(x, finite).sub(t).abs().max().item<double>() / scale;
}

// Where eager is not finite, the same; elsewhere within a few roundings and twice eager's worst
// error.
void expect_as_exact(const at::Tensor& ours, const at::Tensor& eagers, const at::Tensor& truth,
                     double eager_worst) {
  if (!ours.is_floating_point()) {
    EXPECT_TRUE(ours.equal(eagers)) << ours << eagers;
    return;
  }
  const at::Tensor finite = eagers.isfinite();
  EXPECT_TRUE(ours.isnan().equal(eagers.isnan())) << ours << eagers;
  EXPECT_TRUE(
      ours.masked_fill(finite, 0).nan_to_num().equal(eagers.masked_fill(finite, 0).nan_to_num()))
      << ours << eagers;
  if (ours.numel() == 0) return;

  const double eps = epsilon(ours.scalar_type());
  const at::Tensor t = finite_part(truth, finite), scale = t.abs();
  const at::Tensor error = finite_part(ours, finite).sub(t).abs();
  at::Tensor allowed = scale.mul(4 * eps).add(scale.max().mul(2 * eager_worst)).add(eps * 1e-3);
  // Of float64 the truth is not known: only that both lie within its roundings.
  if (ours.scalar_type() == at::kDouble) allowed = scale.max().add(1).mul(64 * eps).expand_as(t);
  EXPECT_TRUE(error.le(allowed).all().item<bool>())
      << "error " << error.max().item<double>() << " on values up to " << scale.max().item<double>()
      << "; eager's " << eager_worst << " of that";
}

bool is_random(std::string_view op) {
  return op.find("dropout") != op.npos || op.find("bernoulli") != op.npos;
}

void expect_same_layout(const at::Tensor& ours, const at::Tensor& eagers) {
  EXPECT_EQ(ours.scalar_type(), eagers.scalar_type());
  ASSERT_EQ(ours.sizes(), eagers.sizes());
  if (ours.numel() > 1) {
    EXPECT_EQ(ours.strides(), eagers.strides());
  }
}

// The tensors among boxed values, lists opened.
Tensors tensors_of(const Stack& values) {
  Tensors tensors;
  for_each_tensor(values, [&](const at::Tensor& t) { tensors.push_back(t); });
  return tensors;
}

// An operator as a capture meets it, from above.
struct CapturedCall {
  Tensors inputs;
  Captured captured;

  bool has(std::string_view op) const {
    const auto& nodes = captured.joint.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](auto& node) { return node->op == op; });
  }
  // Of what the operator returns, from what the graph returns.
  Tensors results(const Tensors& outputs) const {
    Tensors results;
    for (const ResultSource& source : captured.results)
      results.push_back(source.kind == ResultSource::Kind::kInput ? inputs[source.index]
                                                                  : outputs[source.index]);
    return results;
  }
  Tensors run() const { return results(interpret(captured.joint.graph, inputs)); }
  // Results without data, of the types that the graph states.
  Tensors stated() const {
    Tensors outputs;
    for (const std::optional<Value>& output : captured.joint.graph.outputs())
      outputs.push_back(meta_tensor(output->type()));
    return results(outputs);
  }
};

CapturedCall capture_call(std::string_view op, const Stack& args,
                          Numerics numerics = Numerics::kDefault) {
  CapturedCall call;
  for (const at::Tensor& t : tensors_of(args)) call.inputs.push_back(t.view_as(t));  // each its own
  std::vector<std::string> names;
  for (size_t i = 0; i < call.inputs.size(); ++i) names.push_back("x" + std::to_string(i));
  const auto program = [&](const Tensors& fakes) {
    Stack stack = args;
    auto next = fakes.begin();
    map_tensors(stack, [&](const at::Tensor&) { return *next++; });
    find_operator(op).callBoxed(stack);
    return tensors_of(stack);
  };
  call.captured = capture({call.inputs, names}, program, numerics);
  return call;
}

Tensors defined(Tensors tensors) {
  std::erase_if(tensors, [](const at::Tensor& t) { return !t.defined(); });
  return tensors;
}

// The formula of a row for other devices holds here as well.
bool applies_on_cpu(const Decomposition& row) {
  const auto args = samples(row.op, Draw(at::kFloat, at::kFloat));
  return !row.applies || std::any_of(args.begin(), args.end(), row.applies);
}

using RowAndType = std::tuple<Decomposition, at::ScalarType>;
class DecompositionMatchesEager : public testing::TestWithParam<RowAndType> {};

TEST_P(DecompositionMatchesEager, ForEverySample) {
  const c10::AutoGradMode no_grad(false);
  const auto& [row, type] = GetParam();
  const auto args = samples(row.op, Draw(type, type));
  const auto exact_args = samples(row.op, Draw(type, at::kDouble));
  ASSERT_FALSE(args.empty()) << row.op << " has no sample in samples.cc";
  const bool is_for_cpu = applies_on_cpu(row);

  struct Run {
    size_t sample;
    Tensors ours, eagers, truth;
  };
  std::vector<Run> runs;
  std::vector<double> eager_worst;  // one an output, over all samples
  for (size_t i = 0; i < args.size(); ++i) {
    if (is_for_cpu && row.applies && !row.applies(args[i])) continue;
    SCOPED_TRACE(testing::Message() << "sample " << i);
    Run run{i, decomposed(row, args[i]), eager(row.op, args[i]), {}};
    run.truth = is_random(row.op) ? run.eagers : eager(row.op, exact_args[i]);
    ASSERT_EQ(run.ours.size(), run.eagers.size());
    eager_worst.resize(run.ours.size());
    for (size_t k = 0; k < run.ours.size(); ++k) {
      const at::Tensor& b = run.eagers[k];
      ASSERT_EQ(run.ours[k].defined(), b.defined()) << "output " << k;
      if (b.defined()) eager_worst[k] = std::max(eager_worst[k], worst_error(b, run.truth[k]));
    }
    runs.push_back(std::move(run));
  }
  if (runs.empty() && type != at::kFloat) GTEST_SKIP() << "the row does not apply to this dtype";
  EXPECT_FALSE(runs.empty()) << "no sample to which the row applies";

  for (const Run& run : runs)
    for (size_t k = 0; k < run.ours.size(); ++k) {
      const at::Tensor& ours = run.ours[k];
      if (!ours.defined()) continue;
      SCOPED_TRACE(testing::Message() << "sample " << run.sample << ", output " << k);
      expect_same_layout(ours, run.eagers[k]);
      expect_as_exact(ours, run.eagers[k], run.truth[k], eager_worst[k]);
    }
}

class DecompositionIsCaptured : public testing::TestWithParam<Decomposition> {};

TEST_P(DecompositionIsCaptured, Whole) {
  const c10::AutoGradMode no_grad(false);
  const Decomposition& row = GetParam();
  size_t sample = 0;
  for (const Stack& args : samples(row.op, Draw(at::kDouble, at::kDouble))) {
    SCOPED_TRACE(testing::Message() << "sample " << sample++);
    if (row.applies && !row.applies(args)) continue;
    const Tensors want = defined(decomposed(row, args));
    const CapturedCall call = capture_call(row.op, args);
    EXPECT_FALSE(call.has(row.op)) << "was not rewritten";
    seed();
    const Tensors got = call.run();
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i) {
      expect_same_layout(got[i], want[i]);
      EXPECT_TRUE(got[i].allclose(want[i], 1e-12, 1e-12, /*equal_nan=*/true)) << "output " << i;
    }
  }
}

class CapturedForEagersBits : public testing::TestWithParam<Decomposition> {};

// Whether it comes apart or not, its types are those of its parts and its results eager's.
TEST_P(CapturedForEagersBits, HasTheTypesOfItsParts) {
  const c10::AutoGradMode no_grad(false);
  const Decomposition& row = GetParam();
  size_t sample = 0;
  for (const Stack& args : samples(row.op, Draw(at::kFloat, at::kFloat))) {
    SCOPED_TRACE(testing::Message() << "sample " << sample++);
    if (row.applies && !row.applies(args)) continue;
    const CapturedCall call = capture_call(row.op, args, Numerics::kEager);
    const Tensors stated = call.stated(), parts = capture_call(row.op, args).stated();
    ASSERT_EQ(stated.size(), parts.size());
    for (size_t i = 0; i < stated.size(); ++i) expect_same_layout(stated[i], parts[i]);
    if (reference_of(row.op)) continue;  // the CPU has no kernel
    const Tensors want = defined(eager(row.op, args));
    seed();
    const Tensors got = call.run();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      expect_same_layout(got[i], stated[i]);
      EXPECT_TRUE(got[i].nan_to_num(7).equal(want[i].nan_to_num(7))) << "output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRow, CapturedForEagersBits, testing::ValuesIn(every_row()),
                         [](const testing::TestParamInfo<Decomposition>& info) {
                           return test_name(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(EveryRow, DecompositionIsCaptured, testing::ValuesIn(every_row()),
                         [](const testing::TestParamInfo<Decomposition>& info) {
                           return test_name(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(EveryRow, DecompositionMatchesEager,
                         testing::Combine(testing::ValuesIn(every_row()),
                                          testing::Values(at::kFloat, at::kDouble, at::kBFloat16)),
                         [](const testing::TestParamInfo<RowAndType>& info) {
                           return test_name(std::get<0>(info.param)) + "_" +
                                  c10::toString(std::get<1>(info.param));
                         });

TEST(Decompositions, AreFoundByNameAndOverload) {
  ASSERT_NE(find_decomposition("aten::glu"), nullptr);
  EXPECT_EQ(find_decomposition("aten::glu")->op, "aten::glu");
  EXPECT_EQ(find_decomposition("aten::mm"), nullptr);
  EXPECT_EQ(find_decomposition("aten::mean.names_dim"), nullptr);
}

TEST(Decompositions, NameOperatorsThatExist) {
  for (const Decomposition& row : every_row()) EXPECT_NO_THROW(find_operator(row.op)) << row.op;
}

// Mean square minus squared mean would lose every digit here.
TEST(Decompositions, KeepAVarianceThatIsSmallBesideTheMean) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor x = Draw(at::kFloat, at::kFloat).normal({4, 256}, 1, 3000);
  Stack stack{x, std::vector<int64_t>{256}, at::IValue(), at::IValue(), 0.0};
  find_decomposition("aten::native_layer_norm")->run(stack);
  const at::Tensor truth = x.to(at::kDouble).var(1, /*unbiased=*/false).rsqrt();
  const at::Tensor rstd = stack[2].toTensor().view({4}).to(at::kDouble);
  EXPECT_LT(rstd.sub(truth).abs().max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace aten_bridge
