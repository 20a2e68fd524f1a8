// Programs in other languages run a package: the bits of the compiled function.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/inductor/support/scratch_directory.h"
#include "torchdyn/package.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {
namespace {

using at::Tensor;
using inductor::ScratchDirectory;
using ::testing::HasSubstr;
using ::testing::Not;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string bytes_of(const Tensor& tensor) {
  const Tensor dense = tensor.detach().contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()};
}

Tensor pointwise_and_norm(const Tensor& x) {
  return torch::layer_norm(torch::gelu(x) * 2 + x.tanh(), {x.size(1)}).softmax(-1) +
         x.sum(1, /*keepdim=*/true);
}

class Clients : public ::testing::Test {
 protected:
  Clients() : x_(torch::randn({5, 33})) {}

  template <class F>
  void save_what(F function) {
    auto compiled = compile(function);
    expected_ = bytes_of(compiled(x_));
    save(compiled, path());
    std::ofstream(folder_.path() + "/in", std::ios::binary) << bytes_of(x_);
  }
  std::string path() const { return folder_.path() + "/a.td"; }

  // What a client writes to its output; its words go to error().
  std::string run(const std::string& client, const std::string& sizes = "5 33") const {
    const std::string command = client + " " + path() + " " + sizes + " <" + folder_.path() +
                                "/in >" + folder_.path() + "/out 2>" + folder_.path() + "/error";
    failed_ = std::system(command.c_str()) != 0;
    return read(folder_.path() + "/out");
  }
  std::string error() const { return read(folder_.path() + "/error"); }

  const ScratchDirectory folder_;
  const Tensor x_;
  std::string expected_;
  mutable bool failed_ = false;
};

TEST_F(Clients, InCWithoutLibTorchGetTheSameBits) {
  save_what(pointwise_and_norm);
  EXPECT_TRUE(run(TORCHDYN_BIN "/c_client") == expected_) << error();
  std::system(("ldd " TORCHDYN_BIN "/c_client >" + folder_.path() + "/ldd").c_str());
  EXPECT_THAT(read(folder_.path() + "/ldd"), HasSubstr("libtorchdyn_runtime"));
  EXPECT_THAT(read(folder_.path() + "/ldd"), Not(HasSubstr("libtorch_cpu")));
}

TEST_F(Clients, InCWithLibTorchGetTheSameBits) {
  const Tensor w = torch::randn({33, 7});
  Options options;
  options.state = {w};
  auto compiled = compile([w](const Tensor& x) { return x.relu().mm(w).log_softmax(-1); }, options);
  expected_ = bytes_of(compiled(x_));
  save(compiled, path());
  std::ofstream(folder_.path() + "/in", std::ios::binary) << bytes_of(x_);
  EXPECT_TRUE(run(TORCHDYN_BIN "/c_client_with_torch") == expected_) << error();
  EXPECT_EQ(run(TORCHDYN_BIN "/c_client"), "");
  EXPECT_THAT(error(), HasSubstr("it calls aten::mm of LibTorch"));
}

TEST_F(Clients, InPythonGetTheSameBits) {
  save_what(pointwise_and_norm);
  const std::string client =
      "python3 -B -S " TORCHDYN_SOURCE_DIR "/tests/torchdyn/c_api/client.py " TORCHDYN_LIB
      "/libtorchdyn_runtime.so";
  EXPECT_TRUE(run(client) == expected_) << error();
}

TEST_F(Clients, InRustGetTheSameBits) {
  if (std::system("rustc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no rustc";
  const std::string client = folder_.path() + "/client";
  const std::string build = "rustc -O -D warnings -o " + client +
                            " -L " TORCHDYN_LIB
                            " -l torchdyn_runtime -C link-arg=-Wl,-rpath," TORCHDYN_LIB
                            " " TORCHDYN_SOURCE_DIR "/tests/torchdyn/c_api/client.rs";
  ASSERT_EQ(std::system(build.c_str()), 0);
  save_what(pointwise_and_norm);
  EXPECT_TRUE(run(client) == expected_) << error();
}

TEST_F(Clients, InCTrainWithTheBitsOfTheCompiledFunction) {
  torch::nn::Linear linear(33, 4);
  auto compiled =
      compile([linear](const Tensor& x) mutable { return linear(x).tanh().square().mean(); },
              {.state = {linear}});
  compiled(x_);
  save(compiled, path());
  std::ofstream(folder_.path() + "/in", std::ios::binary) << bytes_of(x_);
  const std::string trained = folder_.path() + "/trained.td";
  const std::string losses =
      run(TORCHDYN_BIN "/c_training", "5 33 " + trained + " \"adamw lr=0.01\" 3");

  torch::optim::AdamW optimizer(linear->parameters(), torch::optim::AdamWOptions(0.01));
  std::string expected;
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    const Tensor loss = compiled(x_);
    loss.backward();
    optimizer.step();
    char line[64];
    std::snprintf(line, sizeof(line), "%a\n", loss.item<double>());
    expected += line;
  }
  EXPECT_EQ(losses, expected) << error();
  const Package package = load(trained);
  for (const auto& [name, tensor] : package.weights())
    EXPECT_TRUE(tensor.equal(*linear->named_parameters().find(name))) << name;
}

TEST_F(Clients, InCTrainFor500StepsAtEagersLosses) {
  torch::nn::Linear linear(33, 4);
  auto loss_of = [linear](const Tensor& x) mutable { return linear(x).tanh().square().mean(); };
  auto compiled = compile(loss_of, {.state = {linear}});
  compiled(x_);
  save(compiled, path(), {.optimizer = "adamw lr=0.01"});
  std::ofstream(folder_.path() + "/in", std::ios::binary) << bytes_of(x_);
  torch::optim::AdamW optimizer(linear->parameters(), torch::optim::AdamWOptions(0.01));
  const std::string half = folder_.path() + "/half.td", trained = folder_.path() + "/trained.td";
  std::istringstream losses(run(TORCHDYN_BIN "/c_training", "5 33 " + half + " own 250"));
  for (int step = 0; step < 500; ++step) {
    if (step == 250) {  // another process goes on
      std::filesystem::rename(half, path());
      losses.clear();
      losses.str(run(TORCHDYN_BIN "/c_training", "5 33 " + trained + " own 250"));
    }
    optimizer.zero_grad();
    const Tensor loss = loss_of(x_);
    loss.backward();
    optimizer.step();
    std::string line;
    ASSERT_TRUE(std::getline(losses, line)) << step << error();
    ASSERT_NEAR(std::strtod(line.c_str(), nullptr), loss.item<double>(), 1e-6) << step;
  }
}

TEST_F(Clients, OverHttpGetTheSameBitsAtTheSameTime) {
  if (!std::filesystem::exists(TORCHDYN_BIN "/torchdyn_serve")) GTEST_SKIP() << "no cpp-httplib";
  const Tensor w = torch::randn({33, 7});
  auto compiled =
      compile([w](const Tensor& x) { return x.relu().mm(w).log_softmax(-1); }, {.state = {w}});
  expected_ = bytes_of(compiled(x_));
  save(compiled, path());
  const std::string input = bytes_of(x_), in = folder_.path() + "/";
  std::ofstream(in + "request", std::ios::binary)
      << *safetensors_header({{"x", aten_bridge::DType::kFloat32, {5, 33}, input}}) << input;
  const std::string script =
      TORCHDYN_BIN "/torchdyn_serve " + path() + " --port 0 >" + in +
      "port & server=$!; "
      "for i in $(seq 600); do grep -q port " +
      in +
      "port && break; sleep 0.1; done; " TORCHDYN_BIN "/torchdyn_ask 127.0.0.1 $(sed 's/.* //' " +
      in + "port) " + in + "request --clients 4 --requests 400 --outputs " + in + "answer >" + in +
      "out 2>" + in + "error; status=$?; kill $server; exit $status";
  ASSERT_EQ(std::system(script.c_str()), 0) << error();
  const std::string answer = read(in + "answer");
  EXPECT_TRUE(parse_safetensors(answer)->at(0).bytes == expected_);
  EXPECT_THAT(read(in + "out"), HasSubstr("4 clients, 400 requests"));
}

TEST_F(Clients, AreToldWhatDoesNotFit) {
  save_what(pointwise_and_norm);
  for (const char* client : {TORCHDYN_BIN "/c_client", TORCHDYN_BIN "/c_client_with_torch"}) {
    run(client, "3 55");
    EXPECT_TRUE(failed_);
    EXPECT_EQ(error(), "input 0 (arg0): expected f32[5, 33], given f32[3, 55]\n");
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  run(TORCHDYN_BIN "/c_client");
  EXPECT_THAT(error(), HasSubstr("not a package: it has"));
}

TEST_F(Clients, GetTheSameBitsWhereKernelsCallSleef) {
  save_what([](const Tensor& x) { return (x.abs() + 1).log() * x.sin(); });
  const std::string output = run(TORCHDYN_BIN "/c_client_with_torch");
  EXPECT_TRUE(output == expected_) << error();
}

}  // namespace
}  // namespace torchdyn
