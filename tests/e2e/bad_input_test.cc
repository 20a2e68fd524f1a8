// What goes wrong around a compiled function is said clearly, once, and costs no result.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/base/once.h"
#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

namespace fs = std::filesystem;
using aten_bridge::SaidCapture;
using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using torch::Tensor;

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Each test has a kernel cache of its own, so that nothing is compiled before it.
class BadInput : public ::testing::Test {
 protected:
  BadInput() : cache_("TORCHDYN_CACHE_DIR", folder_) {}
  ~BadInput() override { fs::remove_all(folder_); }

  static std::string make_folder() {
    std::string pattern = fs::temp_directory_path() / "torchdyn-test-XXXXXX";
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
    return pattern;
  }

  // An executable that fails as a compiler does.
  std::string failing_compiler() const {
    const std::string path = folder_ + "/failing-compiler";
    std::ofstream(path) << "#!/bin/sh\necho these are its words >&2\nexit 1\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  const std::string folder_ = make_folder();
  const Tensor x_ = torch::linspace(-1, 1, 24).view({4, 6}).to(test_device());

 private:
  ScopedVariable cache_;
};

Tensor bent(const Tensor& x) { return torch::tanh(x * 3 + 1); }

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(BadInput, WithoutAHostCompilerCallsRunInEagerAndItIsSaidOnce) {
  const ScopedVariable cxx("TORCHDYN_CXX", "/nonexistent/g++");
  const SaidCapture said;
  const auto compiled = compile(bent);
  EXPECT_TRUE(torch::equal(compiled(x_), bent(x_)));
  EXPECT_TRUE(torch::equal(compiled(x_), bent(x_)));
  EXPECT_THAT(said.messages(), ElementsAre(HasSubstr("/nonexistent/g++")));
  EXPECT_THAT(explain(compiled).str(), HasSubstr("/nonexistent/g++"));
}

TEST_F(BadInput, AHostCompilerThatFailsIsSaidOnceWithItsLog) {
  const ScopedVariable cxx("TORCHDYN_CXX", failing_compiler());
  const SaidCapture said;
  const auto compiled = compile(bent);
  EXPECT_TRUE(torch::equal(compiled(x_), bent(x_)));
  EXPECT_TRUE(torch::equal(compiled(x_), bent(x_)));
  ASSERT_THAT(said.messages(), ElementsAre(HasSubstr(folder_)));
  const std::string message = said.messages()[0];
  const std::string log = message.substr(message.rfind(folder_));
  EXPECT_THAT(text_of(log), HasSubstr("these are its words")) << message;
}

TEST_F(BadInput, ACacheDirectoryThatCannotBeWrittenIsDoneWithout) {
  const ScopedVariable cache("TORCHDYN_CACHE_DIR", "/dev/null/kernels");
  const SaidCapture said;
  const auto compiled = compile(bent);
  EXPECT_TRUE(torch::allclose(compiled(x_), bent(x_)));
  EXPECT_EQ(explain(compiled).variants.at(0).eager_reason, "");
  EXPECT_THAT(said.messages(), ElementsAre(HasSubstr("/dev/null/kernels")));
}

TEST_F(BadInput, AnUnknownOptionIsRefusedWithTheNamesOfAll) {
  try {
    Options().set("fulgraph", "true");
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("fulgraph"));
    EXPECT_THAT(error.what(), HasSubstr("fullgraph"));
    EXPECT_THAT(error.what(), HasSubstr("recompile_limit"));
  }
}

TEST_F(BadInput, AnUnknownDumpNameIsSaidWithTheNamesOfAll) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // A fresh process: the variable is read once.
  auto call = [this] {
    setenv("TORCHDYN_DUMP", "grpah", 1);
    const bool equal = torch::allclose(compile(bent)(x_), bent(x_));
    fs::remove_all(folder_);  // exit() runs no destructor of this test
    std::exit(equal ? 0 : 1);
  };
  EXPECT_EXIT(call(), ExitedWithCode(0), "grpah.*graph.*loops.*kernel");
}

TEST_F(BadInput, AnExceptionOfTheFunctionPassesAndLeavesNoVariant) {
  bool broken = true;
  const auto compiled = compile([&](const Tensor& x) {
    if (broken) throw std::out_of_range("the function's own");
    return bent(x);
  });
  for (int i = 0; i < 2; ++i) {
    try {
      compiled(x_);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::out_of_range& error) {
      EXPECT_STREQ(error.what(), "the function's own");
    }
  }
  EXPECT_TRUE(explain(compiled).variants.empty());

  broken = false;
  EXPECT_TRUE(torch::allclose(compiled(x_), bent(x_)));
  EXPECT_EQ(explain(compiled).variants.at(0).eager_reason, "");
}

TEST_F(BadInput, ShapesThatDoNotFitRaiseEagersError) {
  auto product = [](const Tensor& x) { return x.mm(x); };
  const auto compiled = compile(product);
  auto error_of = [&](const auto& function) {
    try {
      function(x_);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(error_of(compiled), error_of(product));
  EXPECT_TRUE(explain(compiled).variants.empty());
}

}  // namespace
}  // namespace torchdyn
