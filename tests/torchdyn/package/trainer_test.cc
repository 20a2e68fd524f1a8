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
