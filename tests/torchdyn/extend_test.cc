#include "torchdyn/extend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace {

at::Tensor halved(const at::Tensor& x, double by) { return x / (by * 2); }

TORCH_LIBRARY(torchdyn_extend_test, library) {
  library.def("halved(Tensor x, float by) -> Tensor");
  library.impl("halved", c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(halved));
  library.impl("halved", c10::DispatchKey::Meta, TORCH_FN(halved));
}

at::Tensor call(const at::Tensor& x, double by) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("torchdyn_extend_test::halved", "")
                             .typed<at::Tensor(const at::Tensor&, double)>();
  return op.call(x, by);
}

}  // namespace

namespace torchdyn {
namespace {

using ::testing::HasSubstr;

constexpr char kOp[] = "torchdyn_extend_test::halved";

std::string error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Extend, ADefinitionChangesWhatIsCompiledAndNotWhatComesOut) {
  const auto f = [](const at::Tensor& x) { return call(x + 1, 2.0) * 3; };
  auto compiled = compile(f);
  const at::Tensor x = torch::randn({6});
  const auto check = [&](std::vector<std::string> extern_calls) {
    EXPECT_TRUE(at::allclose(compiled(x), f(x)));
    EXPECT_EQ(explain(compiled).variants.back().graphs.at(0).extern_calls, extern_calls);
  };
  check({kOp});
  add_lowering(kOp, R"(element 1 (x, by) {
    %0 = mul(by, 2)
    %1 = div(x, %0)
    return %1
  })");
  check({});
  add_decomposition(kOp, [](std::vector<c10::IValue>& stack) {
    const double by = stack.back().toDouble();
    stack.pop_back();
    stack.back() = stack.back().toTensor() * (0.5 / by);
  });
  check({});
  EXPECT_THAT(explain(compiled).variants.back().graphs.at(0).text, HasSubstr("aten::mul"));
}

TEST(Extend, WhatCannotJoinSaysWhy) {
  EXPECT_THAT(error_of([] { add_lowering("mylib::nothing", ""); }), HasSubstr("no operator"));
  EXPECT_THAT(error_of([] { add_lowering("aten::reshape", ""); }), HasSubstr("other operators"));
  EXPECT_THAT(error_of([] { add_lowering("aten::gelu", ""); }), HasSubstr("approximate"));
  EXPECT_THAT(error_of([] { add_lowering(kOp, "element 1 (x, by) { return x, by }"); }),
              HasSubstr("it has 1 results, the element 2"));
  EXPECT_THAT(error_of([] { add_lowering(kOp, "element 1 (by, x) { return x }"); }),
              HasSubstr("arguments are not the operator's"));
  EXPECT_THAT(error_of([] { add_lowering(kOp, "element 1 (x, by) { return y }"); }),
              HasSubstr("y is no argument"));
}

}  // namespace
}  // namespace torchdyn
