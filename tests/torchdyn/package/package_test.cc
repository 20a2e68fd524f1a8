// A saved function, loaded, beside the compiled one: the same bits, gradients and effects.
#include "torchdyn/package.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"

namespace torchdyn {
namespace {

using at::Tensor;
using inductor::ScratchDirectory;
using inductor::Variable;
using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

struct NetImpl : torch::nn::Module {
  NetImpl()
      : embedding(register_module("embedding", torch::nn::Embedding(10, 8))),
        fc(register_module("fc", torch::nn::Linear(8, 16))),
        norm(register_module("norm", torch::nn::LayerNorm(std::vector<int64_t>{16}))),
        scale(register_buffer("scale", torch::rand({16}))) {}
  Tensor forward(const Tensor& tokens) {
    return (norm(torch::gelu(fc(embedding(tokens)))) * scale).softmax(-1);
  }
  torch::nn::Embedding embedding;
  torch::nn::Linear fc;
  torch::nn::LayerNorm norm;
  Tensor scale;
};
TORCH_MODULE(Net);

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PackageTest : public ::testing::Test {
 protected:
  template <class F>
  Package saved(const F& compiled) {
    save(compiled, path());
    return load(path());
  }
  std::string path() const { return folder_.path() + "/a.td"; }

  const ScratchDirectory folder_;
};

void expect_same(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].defined(), b[i].defined()) << i;
    if (!a[i].defined()) continue;
    EXPECT_TRUE(a[i].equal(b[i])) << i;
    EXPECT_EQ(a[i].strides(), b[i].strides()) << i;
    EXPECT_EQ(a[i].dtype(), b[i].dtype()) << i;
    EXPECT_EQ(a[i].requires_grad(), b[i].requires_grad()) << i;
  }
}

template <class F>
std::string why_not_saved(const F& compiled, const std::string& path) {
  try {
    save(compiled, path);
  } catch (const PackageError& error) {
    EXPECT_FALSE(std::filesystem::exists(path));
    return error.what();
  }
  return "";
}

template <class F>
std::string why_not(F call) {
  try {
    call();
  } catch (const PackageError& error) {
    return error.what();
  }
  return "";
}

TEST_F(PackageTest, InfersWithTheBitsOfTheCompiledFunction) {
  torch::manual_seed(1);
  Net net;
  net->eval();
  auto compiled = compile(net);
  const at::NoGradGuard no_grad;
  const Tensor tokens = torch::randint(10, {3, 5});
  const Tensor result = compiled(tokens);
  const Package package = saved(compiled);
  expect_same(package({tokens}), {result});
  const Tensor others = torch::randint(10, {3, 5});
  expect_same(package({others}), {compiled(others)});
}

TEST_F(PackageTest, NamesWeightsAsTheModuleDoes) {
  Net net;
  auto compiled = compile(net);
  const at::NoGradGuard no_grad;
  compiled(torch::randint(10, {3, 5}));
  std::vector<std::string> names;
  const Package package = saved(compiled);
  for (const auto& [name, tensor] : package.weights()) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("scale", "embedding.weight", "fc.weight", "fc.bias",
                                            "norm.weight", "norm.bias"));
  EXPECT_EQ(package.parameters().size(), 5u);
  EXPECT_TRUE(package.weights()[2].second.equal(net->fc->weight));
}

TEST_F(PackageTest, NeedsNoCompilerNoPathAndNoCache) {
  Net net;
  auto compiled = compile(net);
  const at::NoGradGuard no_grad;
  const Tensor tokens = torch::randint(10, {3, 5});
  const Tensor result = compiled(tokens);
  save(compiled, path());
  const std::string cache = folder_.path() + "/cache";
  const Variable directory("TORCHDYN_CACHE_DIR", cache), no_path("PATH", "/nonexistent"),
      no_compiler("TORCHDYN_CXX", "no-such-compiler"), temporary("TMPDIR", "/nonexistent");
  expect_same(load(path())({tokens}), {result});
  EXPECT_FALSE(std::filesystem::exists(cache));
}

TEST_F(PackageTest, TrainsWithTheBitsOfTheCompiledFunction) {
  torch::manual_seed(2);
  Net net;
  auto compiled = compile(net);
  const Tensor tokens = torch::randint(10, {3, 5}), weight = torch::randn({3, 5, 16});
  (compiled(tokens) * weight).sum();
  const Package package = saved(compiled);
  const std::string file = read(path());
  torch::optim::SGD ours(package.parameters(), 0.1), theirs(net->parameters(), 0.1);
  for (int step = 0; step < 3; ++step) {
    const Tensor a = package({tokens}).at(0), b = compiled(tokens);
    expect_same({a}, {b});
    ours.zero_grad();
    theirs.zero_grad();
    (a * weight).sum().backward();
    (b * weight).sum().backward();
    for (const auto& [name, tensor] : package.weights()) {
      const Tensor* original = net->named_parameters().find(name);
      if (original) expect_same({tensor.grad(), tensor}, {original->grad(), *original});
    }
    ours.step();
    theirs.step();
  }
  EXPECT_TRUE(read(path()) == file);  // steps stay in memory
}

TEST_F(PackageTest, KeepsInferenceAndTrainingBesideEachOther) {
  Net net;
  auto compiled = compile(net);
  const Tensor tokens = torch::randint(10, {3, 5});
  const Tensor trained = compiled(tokens);
  const Tensor inferred = [&] {
    const at::NoGradGuard no_grad;
    return compiled(tokens);
  }();
  const Package package = saved(compiled);
  expect_same(package({tokens}), {trained});
  const at::NoGradGuard no_grad;
  expect_same(package({tokens}), {inferred});
}

TEST_F(PackageTest, GivesGradientsOfArgumentsAndGradientsOfGradients) {
  auto compiled = compile([](const Tensor& x, const Tensor& y) { return (x.sin() * y).sum(); });
  const Tensor x = torch::randn({4}).requires_grad_(), y = torch::randn({4});
  compiled(x, y);
  const Package package = saved(compiled);
  const auto gradients = [&](const Tensor& loss) {
    const Tensor first = torch::autograd::grad({loss}, {x}, {}, true, /*create_graph=*/true)[0];
    return Tensors{first.detach(), torch::autograd::grad({first.sum()}, {x})[0]};
  };
  const Tensors ours = gradients(package({x, y}).at(0)), theirs = gradients(compiled(x, y));
  expect_same(ours, theirs);
}

TEST_F(PackageTest, ServesATangentThatTrainingDidNotGive) {
  auto compiled = compile([](const Tensor& x) {
    const Tensor logits = x.exp() * 2;
    return std::make_tuple(logits.logsumexp(0), logits);
  });
  const Tensor x = torch::randn({4}).requires_grad_();
  compiled(x);
  const Package package = saved(compiled);
  const auto [loss, logits] = compiled(x);
  const Tensors results = package({x});
  const Tensor a = torch::autograd::grad({results[0] + results[1].sum()}, {x})[0];
  const Tensor b = torch::autograd::grad({loss + logits.sum()}, {x})[0];
  EXPECT_TRUE(at::allclose(a, b));
}

TEST_F(PackageTest, ChangesBuffersAsTheFunctionDoes) {
  torch::nn::BatchNorm1d norm(4);
  auto compiled = compile(norm);
  const Tensor x = torch::randn({8, 4});
  const at::NoGradGuard no_grad;
  compiled(x);
  const Package package = saved(compiled);
  const std::string file = read(path());
  for (int call = 0; call < 2; ++call) expect_same(package({x}), {compiled(x)});
  for (const auto& [name, tensor] : package.weights())
    if (const Tensor* buffer = norm->named_buffers().find(name)) expect_same({tensor}, {*buffer});
  EXPECT_TRUE(read(path()) == file);
}

TEST_F(PackageTest, ReturnsInputsAndViewsAndLeavesOutUndefinedTensors) {
  auto compiled = compile([](const Tensor& x) {
    const Tensor y = x * 2;
    return std::make_tuple(x, x.transpose(0, 1), Tensor(), y, y[0]);
  });
  const Tensor x = torch::randn({3, 4});
  compiled(x);
  const Package package = saved(compiled);
  const auto [a, b, c, d, e] = compiled(x);
  const Tensors ours = package({x});
  ASSERT_FALSE(c.defined());
  expect_same(ours, {a, b, d, e});
  EXPECT_TRUE(ours[0].is_same(x));
  EXPECT_TRUE(ours[1].is_alias_of(x));
  EXPECT_TRUE(ours[3].is_alias_of(ours[2]));
}

TEST_F(PackageTest, ChangesAnArgumentInPlace) {
  auto compiled = compile([](Tensor x, const Tensor& y) {
    x.add_(y);
    return x * y;
  });
  const Tensor y = torch::randn({5});
  compiled(torch::randn({5}), y);
  const Package package = saved(compiled);
  const Tensor start = torch::randn({5}), a = start.clone(), b = start.clone();
  expect_same(package({a, y}), {compiled(b, y)});
  expect_same({a}, {b});
  EXPECT_EQ(why_not([&] { package({y, y}); }), "inputs share memory, and the function changes one");
}

TEST_F(PackageTest, KeepsWeightsThatAreNotRowMajorAndConstants) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 4, 3));
  conv->to(torch::kFloat32);
  conv->weight.set_data(conv->weight.contiguous(at::MemoryFormat::ChannelsLast));
  auto compiled = compile(
      [conv](const Tensor& x) mutable {
        return conv(x).relu() + torch::arange(4, torch::kFloat32).reshape({1, 4, 1, 1}) * 0.5;
      },
      {.state = {conv}});
  const at::NoGradGuard no_grad;
  const Tensor x = torch::randn({2, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast);
  compiled(x);
  const Package package = saved(compiled);
  expect_same(package({x}), {compiled(x)});
  EXPECT_EQ(package.weights().at(0).second.strides(), conv->weight.strides());
}

TEST_F(PackageTest, KeepsWhatFreezingComputedOnce) {
  torch::nn::Sequential net(torch::nn::Conv2d(3, 4, 3), torch::nn::BatchNorm2d(4));
  net->eval();
  Options options;
  options.freezing = true;
  auto compiled = compile(net, options);
  const at::NoGradGuard no_grad;
  const Tensor x = torch::randn({2, 3, 5, 5});
  compiled(x);
  const Package package = saved(compiled);
  expect_same(package({x}), {compiled(x)});
  net[0]->as<torch::nn::Conv2d>()->weight.add_(1);
  EXPECT_EQ(why_not_saved(compiled, path() + ".2"),
            "a frozen weight has changed since it was compiled; call it once more");
}

TEST_F(PackageTest, KeepsEagersNumericsAndNumbersAmongTheArguments) {
  Options options;
  options.numerics = Numerics::kEager;
  auto function = [](const Tensor& x, double scale, bool negative) {
    return (negative ? -x : x) * scale + x.exp();
  };
  auto compiled = compile(function, options);
  const Tensor x = torch::randn({7});
  compiled(x, 0.25, true);
  const Package package = saved(compiled);
  expect_same(package({x}), {function(x, 0.25, true)});
}

TEST_F(PackageTest, IsNotMadeOfAModuleThatIsGone) {
  const auto compiled = [] {
    auto f = compile([](torch::nn::Linear& linear, const Tensor& x) { return linear(x); });
    torch::nn::Linear linear(2, 2);
    f(linear, torch::rand({2}));
    return f;
  }();
  EXPECT_EQ(why_not_saved(compiled, path()),
            "a module that it was compiled with is gone, or has other tensors now");
}

TEST_F(PackageTest, IsNotMadeOfTrainedWeightsThatShareMemory) {
  const Tensor one = torch::randn({4}).requires_grad_(), other = one.detach().requires_grad_();
  Options options;
  options.state = {one, other};
  auto compiled = compile([one, other](const Tensor& x) { return x * one + other; }, options);
  compiled(torch::rand({4}));
  EXPECT_EQ(why_not_saved(compiled, path()),
            "two weights share memory, and one of them may be written");
}

TEST_F(PackageTest, TellsWhichInputDoesNotFit) {
  auto compiled = compile([](const Tensor& x, const Tensor& y) { return x + y; });
  compiled(torch::rand({2, 3}), torch::rand({3}));
  const Package package = saved(compiled);
  const Tensor x = torch::rand({2, 3}), y = torch::rand({3});
  EXPECT_EQ(why_not([&] { package({x}); }), "expected 2 tensors, given 1");
  EXPECT_EQ(why_not([&] {
              package({x, torch::rand({4})});
            }),
            "input 1 (arg1): expected f32[3], given f32[4]");
  EXPECT_EQ(why_not([&] {
              package({x.to(torch::kFloat64), y});
            }),
            "input 0 (arg0): expected f32[2, 3], given f64[2, 3]");
  EXPECT_EQ(why_not([&] {
              package({torch::rand({3, 2}).t(), y});
            }),
            "input 0 (arg0): expected f32[2, 3], given f32[2, 3]{1, 2}");
  EXPECT_EQ(why_not([&] { package({x, Tensor()}); }), "input 1 is undefined");
  EXPECT_EQ(why_not([&] {
              package({torch::rand({2, 3}).requires_grad_(), y});
            }),
            "input 0 (arg0) requires a gradient, and did not when it was saved");
}

TEST_F(PackageTest, RefusesAnIndexOutOfRange) {
  Net net;
  auto compiled = compile(net);
  const at::NoGradGuard no_grad;
  compiled(torch::randint(10, {3, 5}));
  const Package package = saved(compiled);
  EXPECT_THAT(why_not([&] { package({torch::full({3, 5}, 10)}); }), HasSubstr("out of range"));
}

TEST_F(PackageTest, IsNotMadeOfWhatRunsInEager) {
  auto compiled = compile([](const Tensor& x) { return x + 1; });
  EXPECT_EQ(why_not_saved(compiled, path()), "nothing to save: it was not called yet");
  auto hidden = compile([t = torch::rand({2})](const Tensor& x) { return x + t; });
  hidden(torch::rand({2}));
  EXPECT_THAT(why_not_saved(hidden, path()), HasSubstr("nothing to save: its calls run in eager"));
}

TEST_F(PackageTest, IsNotMadeOfArgumentsThatAreOneTensor) {
  auto compiled = compile([](const Tensor& x, const Tensor& y) { return x + y; });
  const Tensor x = torch::rand({2});
  compiled(x, x);
  EXPECT_EQ(why_not_saved(compiled, path()),
            "tensor 1 among the arguments was the same as another input");
}

TEST_F(PackageTest, IsNotLoadedWhereAnythingThatRunsIsDamaged) {
  auto compiled = compile([](const Tensor& x) { return x.exp() + 1; });
  compiled(torch::rand({2}));
  save(compiled, path());
  const std::string file = read(path());
  size_t refused = 0, tried = 0;
  for (size_t at = 0; at < file.size(); at += 61, ++tried) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    std::ofstream(path(), std::ios::binary) << changed;
    refused += !why_not([&] { load(path()); }).empty();
  }
  // Zeros between sections, and the minor version, are nobody's.
  EXPECT_GT(refused, tried / 4);
  std::ofstream(path(), std::ios::binary) << file.substr(0, file.size() - 1);
  EXPECT_THAT(why_not([&] { load(path()); }), HasSubstr("not a package"));
  EXPECT_THAT(why_not([&] { load(path() + ".absent"); }), HasSubstr("No such file"));
}

TEST_F(PackageTest, IsCalledByManyThreads) {
  Net net;
  auto compiled = compile(net);
  const Tensor tokens = torch::randint(10, {3, 5});
  const Tensor result = compiled(tokens).detach();
  const Package package = saved(compiled);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int call = 0; call < 50; ++call) wrong += !package({tokens})[0].equal(result);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(PackageTest, HoldsSeveralMethodsOfOneModel) {
  Net net;
  auto encode = compile([net](const Tensor& tokens) mutable { return net->embedding(tokens); },
                        {.state = {net}});
  auto whole = compile(net);
  const at::NoGradGuard no_grad;
  const Tensor tokens = torch::randint(10, {3, 5});
  encode(tokens);
  whole(tokens);
  save({{"forward", whole}, {"encode", encode}}, path());
  const Package package = load(path());
  EXPECT_EQ(package.methods(), (std::vector<std::string>{"forward", "encode"}));
  expect_same(package({tokens}), {whole(tokens)});
  expect_same(package.call("encode", {tokens}), {encode(tokens)});
  EXPECT_EQ(package.weights().size(), 6u);  // each once
  EXPECT_EQ(why_not([&] { package.call("decode", {tokens}); }),
            "the package has no method decode; it has forward, encode");
}

TEST_F(PackageTest, HoldsSeveralModels) {
  torch::nn::Linear a(3, 4), b(4, 5);
  auto first = compile(a), second = compile(b);
  const at::NoGradGuard no_grad;
  const Tensor x = torch::rand({2, 3});
  const Tensor middle = first(x);
  second(middle);
  save({{"encode", first}, {"decode", second}}, path());
  const Package package = load(path());
  expect_same(package.call("decode", package.call("encode", {x})), {second(middle)});
  EXPECT_EQ(package.weights().at(2).first, "decode/weight");
  EXPECT_EQ(why_not([&] { package({x}); }),
            "the package has no method forward; it has encode, decode");
  EXPECT_EQ(why_not([&] { save({{"a", first}, {"a", second}}, path()); }), "two methods named a");
}

TEST_F(PackageTest, RunsTheKernelsOfTheFirstTargetThatThisMachineIs) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no AVX2";
  auto compiled = compile([](const Tensor& x) { return (x.exp() * 2 + x).tanh().sum(-1); });
  const Tensor x = torch::randn({7, 33});
  const Tensor result = compiled(x);
  save(compiled, path(), {.targets = {"x86-64-v4", "x86-64-v3", "x86-64"}});
  expect_same(load(path())({x}), {result});
  save(compiled, path(), {.targets = {"x86-64"}});
  EXPECT_TRUE(at::allclose(load(path())({x})[0], result));
  EXPECT_THAT(load(path()).manifest(), HasSubstr(R"("target": "x86-64")"));
  EXPECT_THAT(why_not([&] { save(compiled, path(), {.targets = {"x86-65"}}); }),
              HasSubstr("x86-65 is no target"));
}

TEST_F(PackageTest, HoldsCubinsAndPtxOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  auto compiled = compile([](const Tensor& x) { return (x.exp() * 2 + x).tanh().sum(-1); });
  const Tensor x = torch::randn({7, 33}).cuda();
  const Tensor result = compiled(x);
  save(compiled, path(), {.targets = {"sm_90", "sm_80", "compute_80"}});
  expect_same(load(path())({x}), {result});
  save(compiled, path(), {.targets = {"compute_80"}});  // the driver compiles it
  expect_same(load(path())({x}), {result});
}

TEST_F(PackageTest, InfersAndTrainsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  Net net;
  net->to(torch::kCUDA);
  auto compiled = compile(net);
  const Tensor tokens = torch::randint(10, {3, 5}).cuda();
  const Tensor weight = torch::randn({3, 5, 16}).cuda();
  (compiled(tokens) * weight).sum().backward();
  {
    const at::NoGradGuard no_grad;
    compiled(tokens);
  }
  const Package package = saved(compiled);
  const Tensor result = package({tokens}).at(0);
  expect_same({result}, {compiled(tokens)});
  (result * weight).sum().backward();
  for (const auto& [name, tensor] : package.weights()) {
    const Tensor* original = net->named_parameters().find(name);
    EXPECT_TRUE(!original || at::allclose(tensor.grad(), original->grad())) << name;
  }
  const at::NoGradGuard no_grad;
  for (int call = 0; call < 8; ++call)  // which become one CUDA graph
    expect_same(package({tokens}), {compiled(tokens)});
}

TEST_F(PackageTest, IsTheSameFileForTheSameFunction) {
  Net net;
  auto compiled = compile(net);
  compiled(torch::randint(10, {3, 5}));
  save(compiled, path());
  const std::string first = read(path());
  save(compiled, path());
  EXPECT_TRUE(read(path()) == first);
}

}  // namespace
}  // namespace torchdyn
