// Many threads that compile, call, differentiate, ask and define at once. Thread sanitizer's
// subject: tests/run --sanitize.
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/e2e/test_device.h"
#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"
#include "torchdyn/compile.h"
#include "torchdyn/extend.h"

namespace {

at::Tensor scaled(const at::Tensor& x, double by) { return x * by; }

TORCH_LIBRARY(torchdyn_many_threads_test, library) {
  library.def("scaled(Tensor x, float by) -> Tensor");
  library.impl("scaled", c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(scaled));
  library.impl("scaled", c10::DispatchKey::Meta, TORCH_FN(scaled));
}

}  // namespace

namespace torchdyn {
namespace {

using torch::Tensor;

constexpr int kThreads = 6;

// All begin at once; what one throws fails the test.
void in_threads(const std::function<void(int thread)>& body) {
  std::barrier begin(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      begin.arrive_and_wait();
      try {
        body(t);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << t << ": " << error.what();
      }
    });
}

Tensor ramp(at::IntArrayRef sizes, double from, double to) {
  return torch::linspace(from, to, c10::multiply_integers(sizes)).view(sizes).to(test_device());
}

void expect_near(const Tensor& got, const Tensor& want) {
  EXPECT_TRUE(torch::allclose(got, want, 1e-4, 1e-5)) << got << want;
}

// The result, then the gradients.
template <class F>
std::vector<Tensor> value_and_gradients(const F& f, const Tensor& x, const Tensor& w) {
  const Tensor x_leaf = x.detach().requires_grad_(), w_leaf = w.detach().requires_grad_();
  const Tensor result = f(x_leaf, w_leaf);
  std::vector<Tensor> all = torch::autograd::grad({result.sum()}, {x_leaf, w_leaf});
  all.insert(all.begin(), result.detach());
  return all;
}

template <class Compiled, class F>
void expect_eagers(const Compiled& compiled, const F& f, const Tensor& x, const Tensor& w) {
  const std::vector<Tensor> got = value_and_gradients(compiled, x, w);
  const std::vector<Tensor> want = value_and_gradients(f, x, w);
  for (size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i]);
}

template <class Compiled>
void expect_all_compiled(const Compiled& compiled) {
  const Explanation explanation = explain(compiled);
  EXPECT_TRUE(explanation.refusals.empty()) << explanation;
  for (const auto& variant : explanation.variants) EXPECT_EQ(variant.eager_reason, "");
}

Tensor layer(const Tensor& x, const Tensor& w) { return (x.mm(w).tanh() * x.sum()).square(); }

// No kernel is on the disk when a test begins.
class ManyThreads : public ::testing::Test {
 private:
  inductor::ScratchDirectory cache_;
  inductor::Variable path_{"TORCHDYN_CACHE_DIR", cache_.path()};
};

TEST_F(ManyThreads, CompileFunctionsOfTheirOwn) {
  in_threads([](int t) {
    const auto f = [t](const Tensor& x, const Tensor& w) {
      return layer(x, w) + (t + 1) * x.cos();
    };
    const auto compiled = compile(f);
    for (int64_t rows : {4, 7})
      expect_eagers(compiled, f, ramp({rows, 5}, -t, 1), ramp({5, 5}, -1, t));
    expect_all_compiled(compiled);
  });
}

TEST_F(ManyThreads, CompileTheSameFunctionAtOnce) {
  in_threads([](int t) {
    const auto compiled = compile(layer);
    expect_eagers(compiled, layer, ramp({4, 5}, -t, 1), ramp({5, 5}, -1, t));
    expect_all_compiled(compiled);
  });
}

TEST_F(ManyThreads, CallOneFunctionWithSizesOfTheirOwn) {
  const auto compiled = compile(layer);
  in_threads([&](int t) {
    for (int64_t i = 0; i < 12; ++i) {
      const Tensor x = ramp({2 + (i + t) % 4, 5}, -t, 1), w = ramp({5, 5}, -1, t);
      expect_eagers(compiled, layer, x, w);
      const torch::NoGradGuard guard;
      expect_near(compiled(x, w), layer(x, w));
    }
  });
  expect_all_compiled(compiled);
}

// A recompile runs in one thread while the others accumulate gradients in the same parameters.
TEST_F(ManyThreads, TrainOneModuleTogether) {
  torch::nn::Sequential model(torch::nn::Linear(5, 9), torch::nn::Tanh(), torch::nn::Linear(9, 2));
  model->to(test_device());
  const auto loss = [](torch::nn::Sequential m, const Tensor& x) {
    return m->forward(x).square().sum();
  };
  const auto compiled = compile(loss);
  const auto input = [](int t, int i) { return ramp({2 + (i + t) % 5, 5}, -t - 1, i); };
  constexpr int kSteps = 5;
  in_threads([&](int t) {
    for (int i = 0; i < kSteps; ++i) compiled(model, input(t, i)).backward();
  });
  std::vector<Tensor> got;
  for (const Tensor& p : model->parameters()) got.push_back(p.grad().clone());
  model->zero_grad();
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kSteps; ++i) loss(model, input(t, i)).backward();
  for (size_t p = 0; p < got.size(); ++p) expect_near(got[p], model->parameters()[p].grad());
  expect_all_compiled(compiled);
}

TEST_F(ManyThreads, RunBackwardThroughOneCallTogether) {
  const Tensor x = ramp({4, 5}, -1, 1).requires_grad_(), w = ramp({5, 5}, -1, 2).requires_grad_();
  const Tensor result = compile(layer)(x, w).sum(), expected = layer(x, w).sum();
  const std::vector<Tensor> want = torch::autograd::grad({expected}, {x, w});
  in_threads([&](int) {
    for (int i = 0; i < 4; ++i) {
      const auto got = torch::autograd::grad({result}, {x, w}, {}, /*retain_graph=*/true);
      expect_near(got[0], want[0]);
      expect_near(got[1], want[1]);
    }
  });
}

// Captures in other threads neither draw from the generator nor take its seed for one of theirs.
TEST_F(ManyThreads, CompileWhileOneDraws) {
  constexpr int kDraws = 20;
  const auto draw = [] {
    std::vector<Tensor> drawn;
    for (int i = 0; i < kDraws; ++i) {
      drawn.push_back(torch::rand({3}));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return torch::stack(drawn);
  };
  torch::manual_seed(7);
  const Tensor want = draw();
  torch::manual_seed(7);
  Tensor got;
  in_threads([&](int t) {
    if (t == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      got = draw();
      return;
    }
    for (int i = 0; i < 3; ++i) {
      const auto compiled = compile(layer);
      expect_eagers(compiled, layer, ramp({3 + i, 5}, -t, 1), ramp({5, 5}, -1, t));
      expect_all_compiled(compiled);
    }
  });
  EXPECT_TRUE(torch::equal(got, want));
}

// What calls, asks, defines and goes away shares tables and variants.
TEST_F(ManyThreads, AskAndDefineWhileOthersCall) {
  constexpr char kOp[] = "torchdyn_many_threads_test::scaled";
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow(kOp, "")
                             .typed<Tensor(const Tensor&, double)>();
  const auto f = [](const Tensor& x) { return op.call(x.sin(), 3.0) + 1; };
  auto shared = std::make_shared<decltype(compile(f))>(compile(f));
  std::atomic<int> left = kThreads;
  in_threads([&](int t) {
    const auto compiled = *shared;
    if (--left == 0) shared.reset();
    for (int i = 0; i < 6; ++i) {
      const Tensor x = ramp({3 + (t + i) % 3}, -t, i);
      if (t == 0) {
        add_lowering(kOp, "element 1 (x, by) {\n  %0 = mul(by, x)\n  return %0\n}");
      } else if (t == 1) {
        EXPECT_NE(explain(compiled).str(), "");
      } else {
        expect_near(compiled(x), f(x));
      }
    }
  });
}

}  // namespace
}  // namespace torchdyn
