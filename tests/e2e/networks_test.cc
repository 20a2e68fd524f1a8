// Networks of other kinds than the demo's train compiled at eager's losses.
#include "tests/e2e/networks.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "bench/gpt/losses.h"
#include "tests/e2e/compiled_once.h"
#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

static void PrintTo(const NetworkRow& row, std::ostream* out) { *out << row.name; }

namespace {

using torch::Tensor;

constexpr uint64_t kSeed = 11;
constexpr int64_t kBatch = 16, kSteps = 200;
constexpr size_t kWindow = 10;
// What float64 leaves apart is some 1e-9 of what float32 does.
constexpr double kFloat64Tolerance = 1e-9;

Tensor loss_of(Network& network, const Tensor& inputs, const Tensor& targets) {
  return network.loss(inputs, targets);
}

// Threads would wait for each other longer than they compute.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }

 private:
  int before_;
};

// Data and weights are drawn on the CPU in float32, so that every training begins alike.
template <class Loss>
std::vector<double> train(const NetworkRow& row, at::ScalarType dtype, const Loss& loss_function) {
  const OneThread one_thread;
  torch::manual_seed(kSeed);
  const auto network = row.build();
  Data data = row.data();
  network->to(test_device(), dtype);
  for (Tensor* t : {&data.inputs, &data.targets})
    *t = t->to(test_device(), t->is_floating_point() ? dtype : t->scalar_type());
  const auto optimizer = row.optimizer(network->parameters());

  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const int64_t first = step * kBatch % data.inputs.size(0);
    torch::manual_seed(kSeed + static_cast<uint64_t>(step));
    optimizer->zero_grad();
    const Tensor loss = loss_function(*network, data.inputs.narrow(0, first, kBatch),
                                      data.targets.narrow(0, first, kBatch));
    loss.backward();
    optimizer->step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

class Networks : public ::testing::TestWithParam<NetworkRow> {};

TEST_P(Networks, TrainCompiledAtEagersLossesInFloat64) {
  const NetworkRow& row = GetParam();
  const auto compiled_loss = torchdyn::compile(loss_of);
  const auto eager = train(row, at::kDouble, loss_of);
  const auto compiled = train(row, at::kDouble, compiled_loss);
  expect_compiled_once(compiled_loss);
  for (size_t step = 0; step < eager.size(); ++step)
    ASSERT_NEAR(compiled[step], eager[step], kFloat64Tolerance) << "step " << step + 1;
}

TEST_P(Networks, TrainCompiledAtEagersLossesInFloat32) {
  at::globalContext().setAllowTF32CuDNN(
      false);  // eager's recurrent networks compute in float32 too
  const NetworkRow& row = GetParam();
  const auto compiled_loss = torchdyn::compile(loss_of);
  const gpt::LossComparison comparison =
      gpt::compare_losses({.eager = train(row, at::kFloat, loss_of),
                           .compiled = train(row, at::kFloat, compiled_loss),
                           .reference = train(row, at::kDouble, loss_of)},
                          kWindow);
  expect_compiled_once(compiled_loss);
  EXPECT_LT(comparison.windows.back().eager, 0.5 * comparison.windows.front().eager);
  if (!row.smooth) return;
  EXPECT_TRUE(comparison.holds()) << "times eager's distance: " << comparison.share() << "\n"
                                  << comparison.table("float64");
}

INSTANTIATE_TEST_SUITE_P(All, Networks, ::testing::ValuesIn(network_rows()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
