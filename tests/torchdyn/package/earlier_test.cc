// Packages that earlier versions wrote.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "torchdyn/package.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {
namespace {

using at::Tensor;

std::string path(const std::string& name) {
  return TORCHDYN_SOURCE_DIR "/tests/torchdyn/package/earlier/" + name;
}

// The one tensor of a file.
Tensor read(const std::string& name) {
  const auto file = *MappedFile::open(path(name));
  const StoredTensor stored = parse_safetensors(file->bytes())->at(0);
  return at::from_blob(const_cast<char*>(stored.bytes.data()), stored.sizes).clone();
}

class Earlier : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
      GTEST_SKIP() << "kernels for x86-64-v3";
  }
};

TEST_F(Earlier, PackagesGiveTheResultsOfTheirTime) {
  const at::NoGradGuard no_grad;
  const Package package = load(path("mlp.td"));
  EXPECT_TRUE(at::allclose(package({read("inputs.safetensors")})[0], read("results.safetensors")));
}

TEST_F(Earlier, PackagesTrain) {
  Trainer trainer(load(path("mlp.td")), "sgd lr=0.1");
  const Package& package = trainer.package();
  package({read("inputs.safetensors")})[0].square().sum().backward();
  for (const Tensor& parameter : package.parameters())
    EXPECT_GT(parameter.grad().abs().sum().item<float>(), 0);
}

TEST_F(Earlier, ManifestsAreWrittenAsBefore) {
  const std::string text = load(path("mlp.td")).manifest();
  EXPECT_EQ(to_json(*parse_manifest(text)), text);
}

}  // namespace
}  // namespace torchdyn
