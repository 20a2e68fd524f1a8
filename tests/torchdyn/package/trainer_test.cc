// torchdyn::Trainer beside LibTorch's optimizers on the compiled function.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/inductor/support/scratch_directory.h"
#include "torchdyn/package.h"

namespace torchdyn {
namespace {

using at::Tensor;
using inductor::ScratchDirectory;
using ::testing::HasSubstr;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest()
      : compiled_(compile(std::function<Tensor(const Tensor&, const Tensor&)>(
                              [net = net_](const Tensor& x, const Tensor& y) mutable {
                                return torch::nn::functional::cross_entropy(net(x).tanh(), y);
                              }),
                          {.state = {net_}})) {
    compiled_(x_, y_);
    save(compiled_, path());
  }

  // The package with an optimizer of its own.
  Package own(const std::string& optimizer) {
    save(compiled_, path(), {.optimizer = optimizer});
    return load(path());
  }

  // Losses are eager's, step by step, as far as rounding lets them: so for `steps` steps, half of
  // them on the package as it was saved and loaded in between.
  void expect_eagers_losses(Trainer& first, torch::optim::Optimizer& optimizer, int steps) {
    std::unique_ptr<Trainer> second;
    for (int step = 0; step < steps; ++step) {
      if (step == steps / 2) {
        first.package().save(path() + ".half");
        second = std::make_unique<Trainer>(load(path() + ".half"));
      }
      optimizer.zero_grad();
      const Tensor loss = loss_in_eager();
      loss.backward();
      optimizer.step();
      const double ours = (second ? *second : first).step({x_, y_});
      ASSERT_NEAR(ours, loss.item<double>(), 2e-6) << step;
    }
  }
  Tensor loss_in_eager() { return torch::nn::functional::cross_entropy(net_(x_).tanh(), y_); }
  std::string path() const { return folder_.path() + "/loss.td"; }

  // Losses of both, step by step, and the weights in the end.
  void expect_same_steps(Trainer& trainer, torch::optim::Optimizer& optimizer) {
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      const Tensor loss = compiled_(x_, y_);
      loss.backward();
      optimizer.step();
      EXPECT_EQ(trainer.step({x_, y_}), loss.item<double>()) << step;
    }
    for (const auto& [name, tensor] : trainer.package().weights())
      EXPECT_TRUE(tensor.equal(*net_->named_parameters().find(name))) << name;
  }

  static std::string why_not(const std::string& path, const std::string& optimizer) {
    try {
      Trainer(load(path), optimizer);
    } catch (const PackageError& error) {
      return error.what();
    }
    return "";
  }

  const ScratchDirectory folder_;
  torch::nn::Linear net_{6, 3};
  const Tensor x_ = torch::randn({4, 6}), y_ = torch::randint(3, {4});
  Compiled<std::function<Tensor(const Tensor&, const Tensor&)>> compiled_;
};

TEST_F(TrainerTest, TakesSgdsSteps) {
  Trainer trainer(load(path()), "sgd lr=0.1 momentum=0.9 weight_decay=0.01 nesterov=1");
  torch::optim::SGD sgd(
      net_->parameters(),
      torch::optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(true));
  expect_same_steps(trainer, sgd);
}

TEST_F(TrainerTest, TakesAdamWsStepsAtAnotherRateMeanwhile) {
  Trainer trainer(load(path()), "adamw lr=0.01 beta2=0.95");
  torch::optim::AdamW adamw(net_->parameters(),
                            torch::optim::AdamWOptions(0.01).betas({0.9, 0.95}));
  expect_same_steps(trainer, adamw);
  trainer.set_learning_rate(0.5);
  for (auto& group : adamw.param_groups()) group.options().set_lr(0.5);
  expect_same_steps(trainer, adamw);
}

TEST_F(TrainerTest, FollowsEagersLossesFor500Steps) {
  Trainer trainer(load(path()), "adamw lr=0.01");
  torch::optim::AdamW adamw(net_->parameters(), torch::optim::AdamWOptions(0.01));
  for (int step = 0; step < 500; ++step) {
    adamw.zero_grad();
    const Tensor loss = loss_in_eager();
    loss.backward();
    adamw.step();
    ASSERT_NEAR(trainer.step({x_, y_}), loss.item<double>(), 2e-6) << step;
  }
}

TEST_F(TrainerTest, TakesItsOwnAdamWsStepsAndGoesOnAfterALoad) {
  Trainer trainer(own("adamw lr=0.01 beta2=0.95 weight_decay=0.1"));
  torch::optim::AdamW adamw(net_->parameters(),
                            torch::optim::AdamWOptions(0.01).betas({0.9, 0.95}).weight_decay(0.1));
  expect_eagers_losses(trainer, adamw, 500);
}

TEST_F(TrainerTest, TakesItsOwnSgdsStepsAndGoesOnAfterALoad) {
  Trainer trainer(own("sgd lr=0.1 momentum=0.9 dampening=0.5 weight_decay=0.01"));
  torch::optim::SGD sgd(
      net_->parameters(),
      torch::optim::SGDOptions(0.1).momentum(0.9).dampening(0.5).weight_decay(0.01));
  expect_eagers_losses(trainer, sgd, 500);
}

TEST_F(TrainerTest, TakesItsOwnStepsWithoutState) {
  Trainer trainer(own("sgd lr=0.1"));
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1));
  expect_eagers_losses(trainer, sgd, 20);
}

TEST_F(TrainerTest, KeepsTheRateAndTheNumberOfStepsInThePackage) {
  Trainer trainer(own("adamw lr=0.01 amsgrad=1"));
  torch::optim::AdamW adamw(net_->parameters(), torch::optim::AdamWOptions(0.02).amsgrad(true));
  trainer.set_learning_rate(0.02);
  expect_eagers_losses(trainer, adamw, 20);
}

TEST_F(TrainerTest, StepsParametersOfEverySizeAndOrder) {
  torch::nn::Sequential net(torch::nn::Conv2d(3, 1, 3), torch::nn::Linear(6, 70000));
  net[0]->as<torch::nn::Conv2d>()->weight.set_data(
      net[0]->as<torch::nn::Conv2d>()->weight.contiguous(at::MemoryFormat::ChannelsLast));
  auto function = [net](const Tensor& x) mutable { return net->forward(x).square().mean(); };
  auto compiled = compile(function, {.state = {net}});
  const Tensor x = torch::randn({2, 3, 8, 8});
  compiled(x);
  save(compiled, path(), {.optimizer = "sgd lr=0.1 momentum=0.9"});
  Trainer trainer(load(path()));
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < 3; ++step) {
    sgd.zero_grad();
    const Tensor loss = net->forward(x).square().mean();
    loss.backward();
    sgd.step();
    EXPECT_NEAR(trainer.step({x}), loss.item<double>(), 1e-6) << step;
  }
  for (const auto& [name, tensor] : trainer.package().weights())
    EXPECT_TRUE(at::allclose(tensor, *net->named_parameters().find(name))) << name;
}

TEST_F(TrainerTest, OfAPackageWithoutAnOptimizerWantsOne) {
  EXPECT_EQ(why_not(path(), ""), "the package brings no optimizer; name one");
  auto without = compile([](const Tensor& x) { return x.sum(); });
  without(x_);
  try {
    save(without, path(), {.optimizer = "sgd"});
    FAIL();
  } catch (const PackageError& error) {
    EXPECT_STREQ(error.what(), "there are no parameters that are trained");
  }
}

TEST_F(TrainerTest, TakesItsOwnStepsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  net_->to(torch::kCUDA);
  const Tensor x = x_.cuda(), y = y_.cuda();
  // Another than the one that was called with weights on the host.
  const auto compiled = compile(
      [this](const Tensor& a, const Tensor& b) {
        return torch::nn::functional::cross_entropy(net_(a).tanh(), b);
      },
      {.state = {net_}});
  compiled(x, y);
  save(compiled, path() + ".gpu", {.optimizer = "adamw lr=0.01"});
  std::unique_ptr<Trainer> trainer = std::make_unique<Trainer>(load(path() + ".gpu"));
  torch::optim::AdamW adamw(net_->parameters(), torch::optim::AdamWOptions(0.01));
  for (int step = 0; step < 500; ++step) {
    if (step == 250) {
      trainer->package().save(path() + ".half");
      trainer = std::make_unique<Trainer>(load(path() + ".half"));
    }
    adamw.zero_grad();
    const Tensor loss = torch::nn::functional::cross_entropy(net_(x).tanh(), y);
    loss.backward();
    adamw.step();
    ASSERT_NEAR(trainer->step({x, y}), loss.item<double>(), 1e-4) << step;
  }
}

TEST_F(TrainerTest, SavesWhatItTrained) {
  Trainer trainer(load(path()), "sgd lr=0.1");
  trainer.step({x_, y_});
  const std::string trained = folder_.path() + "/trained.td";
  trainer.package().save(trained);
  const Package after = load(trained), before = load(path());
  for (size_t i = 0; i < after.weights().size(); ++i) {
    EXPECT_TRUE(after.weights()[i].second.equal(trainer.package().weights()[i].second));
    EXPECT_FALSE(after.weights()[i].second.equal(before.weights()[i].second));
  }
  EXPECT_EQ(after({x_, y_})[0].item<float>(), trainer.package()({x_, y_})[0].item<float>());
}

TEST_F(TrainerTest, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(why_not(path(), "adagrad"), HasSubstr("known are sgd and adamw"));
  EXPECT_THAT(why_not(path(), "sgd beta1=1"), HasSubstr("sgd has no setting beta1"));
  EXPECT_THAT(why_not(path(), "sgd lr"), HasSubstr("lr is no setting"));
  auto without = compile([](const Tensor& x) { return x.sum(); });
  without(x_);
  save(without, path());
  EXPECT_EQ(why_not(path(), "sgd"), "the package has no parameters that are trained");
}

}  // namespace
}  // namespace torchdyn
