#include "torchdyn/package/command/command.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "tests/inductor/support/scratch_directory.h"
#include "torchdyn/package.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {
namespace {

using at::Tensor;
using inductor::ScratchDirectory;
using ::testing::HasSubstr;

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() : linear_(3, 2) {
    auto compiled = compile(linear_);
    const at::NoGradGuard no_grad;
    compiled(x_);
    save(compiled, path("a.td"));
    linear_->bias.add_(1);
    save(compiled, path("b.td"));
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  int run(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    const int status = run_command(words, out, err);
    out_ = out.str();
    err_ = err.str();
    return status;
  }

  const ScratchDirectory folder_;
  const Tensor x_ = torch::rand({4, 3});
  torch::nn::Linear linear_;
  std::string out_, err_;
};

TEST_F(CommandTest, InspectsInWordsAndInJson) {
  EXPECT_EQ(run({"inspect", path("a.td")}), 0);
  EXPECT_THAT(out_, HasSubstr("variant 0: inference\n"));
  EXPECT_THAT(out_, HasSubstr("  argument 0 arg0: f32[4, 3]\n"));
  EXPECT_THAT(out_, HasSubstr("  weight weight: f32[2, 3], gradient\n"));
  EXPECT_EQ(run({"inspect", path("a.td"), "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["manifest"]["variants"][0]["arguments"], 1);
}

TEST_F(CommandTest, ExtractsWeightsAsSafetensors) {
  EXPECT_EQ(run({"extract", path("a.td"), "--output", path("w.safetensors")}), 0) << err_;
  std::ifstream file(path("w.safetensors"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto tensors = parse_safetensors(bytes);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(tensors->at(0).name, "weight");
  EXPECT_EQ(tensors->at(0).sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(run({"extract", path("a.td"), "--section", "none", "--output", path("x")}), 1);
  EXPECT_THAT(err_, HasSubstr("no section none"));
}

TEST_F(CommandTest, SignsAndVerifiesSignatures) {
  const std::string key = path("private.pem"), public_key = path("public.pem");
  if (std::system(("openssl genpkey -algorithm ed25519 -out " + key + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no openssl";
  ASSERT_EQ(std::system(("openssl pkey -in " + key + " -pubout -out " + public_key).c_str()), 0);
  EXPECT_EQ(run({"verify", path("a.td"), "--key", public_key}), 1);
  EXPECT_EQ(out_, "the package is not signed\n");
  EXPECT_EQ(run({"sign", path("a.td"), "--key", key, "--output", path("s.td")}), 0) << err_;
  EXPECT_EQ(run({"verify", path("s.td"), "--key", public_key}), 0) << out_;
  std::ifstream file(public_key);
  const std::string pem{std::istreambuf_iterator<char>(file), {}};
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(load(path("s.td"), {pem})({x_})[0].equal(load(path("a.td"))({x_})[0]));
  EXPECT_THROW(load(path("a.td"), {pem}), PackageError);
}

TEST_F(CommandTest, VerifiesEveryByteOfAWeight) {
  EXPECT_EQ(run({"verify", path("a.td")}), 0);
  std::fstream file(path("a.td"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file << 'x';
  file.close();
  EXPECT_EQ(run({"verify", path("a.td")}), 1);
  EXPECT_EQ(out_, "section weights.safetensors is damaged\n");
  EXPECT_EQ(run({"verify", path("a.td"), "--json"}), 1);
  EXPECT_EQ(nlohmann::json::parse(out_)["whole"], false);
}

TEST_F(CommandTest, RunsOnTensorsOfAFile) {
  const std::string_view bytes(static_cast<const char*>(x_.data_ptr()), x_.nbytes());
  std::ofstream(path("in"), std::ios::binary)
      << *safetensors_header({{"arg0", aten_bridge::DType::kFloat32, {4, 3}, bytes}}) << bytes;
  EXPECT_EQ(run({"run", path("b.td"), "--inputs", path("in"), "--outputs", path("out")}), 0);
  EXPECT_EQ(out_, "result0: f32[4, 2]\n");
  std::ifstream file(path("out"), std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  const auto results = parse_safetensors(written);
  ASSERT_TRUE(results.ok()) << results.status();
  const Tensor result =
      torch::from_blob(const_cast<char*>(results->at(0).bytes.data()), {4, 2}).clone();
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(result.equal(load(path("b.td"))({x_})[0]));
}

TEST_F(CommandTest, TimesCalls) {
  EXPECT_EQ(run({"bench", path("a.td"), "--calls", "3", "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["calls"], 3);
  EXPECT_EQ(run({"bench", path("a.td"), "--calls", "none"}), 1);
}

TEST_F(CommandTest, NamesWhatDiffers) {
  EXPECT_EQ(run({"diff", path("a.td"), path("a.td")}), 0);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(run({"diff", path("a.td"), path("b.td")}), 1);
  EXPECT_EQ(out_, "section weights.safetensors: differs\nweight bias: differs\n");
}

TEST_F(CommandTest, SaysWhatItTakes) {
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(err_, HasSubstr("inspect PACKAGE"));
  EXPECT_EQ(run({"diff", path("a.td")}), 2);
  EXPECT_EQ(run({"inspect", path("absent")}), 1);
  EXPECT_THAT(err_, HasSubstr("torchdyn inspect: cannot open"));
}

}  // namespace
}  // namespace torchdyn
