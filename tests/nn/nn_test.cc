// Every row trains and infers compiled as it does in eager, and none of LibTorch's is without a
// row.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/test_device.h"
#include "tests/nn/row.h"
#include "torchdyn/compile.h"

namespace nn_rows {

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

namespace {

constexpr size_t kSteps = 2;  // the first captures, the second runs what was compiled

std::vector<Row> all_rows() {
  std::vector<Row> rows = module_rows();
  for (Row& row : functional_rows()) {
    row.name = "functional/" + row.name;
    rows.push_back(std::move(row));
  }
  return rows;
}

// What one step leaves: values, then gradients and buffers by their names.
struct Outcome {
  std::vector<std::pair<std::string, Tensor>> values;
  bool has_backward = true;  // it did not raise
};

Tensors to_device(const Tensors& inputs, at::ScalarType dtype) {
  Tensors moved;
  for (const Tensor& x : inputs) {
    const Tensor y = x.to(test_device());
    moved.push_back(y.is_floating_point() ? y.to(dtype).detach().requires_grad_() : y);
  }
  return moved;
}

// A number that every element of every floating result weighs in otherwise.
Tensor weighed(const Tensors& results) {
  Tensor sum = torch::zeros({}, test_device());
  for (const Tensor& y : results) {
    if (!y.defined() || !y.is_floating_point() || !y.requires_grad()) continue;
    const Tensor weights = torch::arange(1, y.numel() + 1, y.options().requires_grad(false)).cos();
    sum = sum + (y.reshape(-1) * weights).sum();
  }
  return sum;
}

template <class Function>
Outcome step(Function& function, nn::Module* module, const Row& row, size_t number,
             at::ScalarType dtype = at::kFloat) {
  torch::manual_seed(100 + number);
  const Tensors inputs = to_device(row.inputs(), dtype);
  if (module) module->zero_grad();
  torch::manual_seed(200 + number);
  const Tensors results = function(inputs);
  const Tensor loss = weighed(results);
  Outcome outcome;
  try {
    if (loss.requires_grad()) loss.backward();
  } catch (const c10::Error&) {
    outcome.has_backward = false;
  }
  const auto add = [&](std::string name, const Tensor& value) {
    outcome.values.emplace_back(std::move(name), value.defined() ? value.detach().clone() : value);
  };
  for (size_t i = 0; i < results.size(); ++i) add("result " + std::to_string(i), results[i]);
  for (size_t i = 0; i < inputs.size(); ++i)
    add("gradient of input " + std::to_string(i), inputs[i].grad());
  if (module) {
    for (const auto& p : module->named_parameters())
      add("gradient of " + p.key(), p.value().grad());
    for (const auto& b : module->named_buffers()) add(b.key(), b.value());
  }
  add("the next random numbers", torch::rand({4}, test_device()));
  return outcome;
}

// Whether it is as near to float64's value as eager's is: cuDNN's functions are approximate.
bool is_as_exact(const Tensor& got, const Tensor& eager, const Tensor& exact) {
  const auto distance = [&](const Tensor& t) {
    return (t.to(at::kDouble) - exact).norm().item<double>();
  };
  return exact.defined() && exact.scalar_type() == at::kDouble &&
         distance(got) <= 2 * distance(eager);
}

// cuDNN's recurrences have no backward in evaluation mode; compiled ones have.
template <class Exact>
void expect_same(const Outcome& got, const Outcome& want, Exact exact) {
  EXPECT_TRUE(got.has_backward);
  EXPECT_TRUE(want.has_backward || !test_device().is_cpu());
  ASSERT_EQ(got.values.size(), want.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) {
    SCOPED_TRACE(want.values[i].first);
    if (!want.has_backward && want.values[i].first.starts_with("gradient")) continue;
    const Tensor &g = got.values[i].second, &w = want.values[i].second;
    ASSERT_EQ(g.defined(), w.defined());
    if (!w.defined()) continue;
    ASSERT_EQ(g.sizes(), w.sizes());
    EXPECT_EQ(g.strides(), w.strides());
    ASSERT_EQ(g.scalar_type(), w.scalar_type());
    if (torch::allclose(g, w, /*rtol=*/1e-4, /*atol=*/1e-5, /*equal_nan=*/true)) continue;
    EXPECT_TRUE(!test_device().is_cpu() && is_as_exact(g, w, exact().values.at(i).second))
        << g << "\nis not\n"
        << w;
  }
}

class Nn : public ::testing::TestWithParam<Row> {
 protected:
  // Else eager's recurrences on a GPU round to 10 bits.
  Nn() { at::globalContext().setAllowTF32CuDNN(false); }

  void expect_steps_as_in_eager(bool train) {
    const Row& row = GetParam();
    const auto built = [&] {
      torch::manual_seed(1);
      Subject subject = row.build();
      if (subject.module) subject.module->to(test_device());
      if (subject.module) subject.module->train(train);
      return subject;
    };
    Subject eager = built(), compiled = built();
    torchdyn::Options options;
    if (compiled.module) options.state.emplace_back(compiled.module);
    auto function = torchdyn::compile(compiled.call, options);
    for (size_t number = 0; number < kSteps; ++number) {
      const Outcome want = step(eager.call, eager.module.get(), row, number);
      const Outcome got = step(function, compiled.module.get(), row, number);
      expect_same(got, want, [&] {
        Subject exact = built();
        if (exact.module) exact.module->to(at::kDouble);
        return step(exact.call, exact.module.get(), row, number, at::kDouble);
      });
    }
    const torchdyn::Explanation explanation = torchdyn::explain(function);
    std::string reasons;
    for (const auto& variant : explanation.variants) reasons += variant.eager_reason;
    for (const std::string& refusal : explanation.refusals) reasons += refusal;
    const bool is_of_cuda = !test_device().is_cpu() && (train || !row.only_in_training);
    const std::string& reason =
        is_of_cuda && !row.cuda_eager_reason.empty() ? row.cuda_eager_reason : row.eager_reason;
    if (reason.empty()) {
      EXPECT_EQ(reasons, "");
      EXPECT_LE(explanation.variants.size(), row.reads_new_values ? kSteps : 1) << explanation;
    } else {
      EXPECT_THAT(reasons, ::testing::HasSubstr(reason));
    }
  }
};

TEST_P(Nn, TrainsAsInEager) { expect_steps_as_in_eager(true); }
TEST_P(Nn, InfersAsInEager) { expect_steps_as_in_eager(false); }

INSTANTIATE_TEST_SUITE_P(All, Nn, ::testing::ValuesIn(all_rows()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

// ---- The table is whole ----

std::string without_details(std::string text) {
  const std::string begin = "namespace detail {", end = "} // namespace detail";
  for (size_t at; (at = text.find(begin)) != std::string::npos;)
    text.erase(at, text.find(end, at) + end.size() - at);
  return text;
}

// What `pattern` names in LibTorch's header files of a folder.
std::set<std::string> declared(const std::string& folder, const std::regex& pattern) {
  const char* other = std::getenv("TORCHDYN_TEXT");  // where LibTorch is not where it was
  const std::filesystem::path include =
      other ? other : std::filesystem::path(TORCHDYN_TORCH_LIB).parent_path() / "include";
  const std::filesystem::path nn = include / "torch/csrc/api/include/torch/nn";
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(nn / folder)) {
    if (!entry.is_regular_file()) continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string all = without_details(text.str());
    for (auto it = std::sregex_iterator(all.begin(), all.end(), pattern);
         it != std::sregex_iterator(); ++it)
      names.insert((*it)[1]);
  }
  return names;
}

std::set<std::string> without_variants(const std::vector<Row>& rows) {
  std::set<std::string> names;
  for (const Row& row : rows) names.insert(row.name.substr(0, row.name.find('/')));
  return names;
}

std::set<std::string> difference(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> in_one;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(),
                                std::inserter(in_one, in_one.end()));
  return in_one;
}

TEST(NnTable, HasEveryModule) {
  const std::set<std::string> want = declared(
      "modules",
      std::regex(R"(^(?:TORCH_MODULE\(|class )(\w+)(?:\)| : public torch::nn::ModuleHolder<))",
                 std::regex::ECMAScript | std::regex::multiline));
  ASSERT_GT(want.size(), 100u);
  EXPECT_THAT(difference(without_variants(module_rows()), want), ::testing::IsEmpty());
}

// A name that begins with _ is a helper's.
TEST(NnTable, HasEveryFunctional) {
  const std::set<std::string> want =
      declared("functional", std::regex(R"(^inline\s+[\w:<>, ]+\s+([a-z]\w*)\()",
                                        std::regex::ECMAScript | std::regex::multiline));
  ASSERT_GT(want.size(), 100u);
  EXPECT_THAT(difference(without_variants(functional_rows()), want), ::testing::IsEmpty());
}

}  // namespace
}  // namespace nn_rows
