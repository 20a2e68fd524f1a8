#include "bench/gpt/memory_meter.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace gpt {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

torch::Tensor megabytes(int64_t count) { return torch::empty({count * kMegabyte}, torch::kByte); }

TEST(MemoryMeter, CountsWhatIsHeldAndItsPeak) {
  const MemoryMeter meter;
  auto kept = megabytes(2);
  megabytes(3);
  EXPECT_EQ(meter.held_bytes(), 2 * kMegabyte);
  EXPECT_EQ(meter.peak_bytes(), 5 * kMegabyte);
}

TEST(MemoryMeter, LeavesOutWhatWasThereBefore) {
  auto before = megabytes(2);
  const MemoryMeter meter;
  before.reset();
  EXPECT_EQ(meter.held_bytes(), 0);
}

TEST(MemoryMeter, CountsTemporariesOfEagersBackward) {
  const auto x = torch::ones({kMegabyte / 4}).requires_grad_();  // a megabyte
  const MemoryMeter meter;
  auto y = (x * x).exp().sum();  // saves exp's result; x * x is gone
  EXPECT_EQ(meter.held_bytes() / kMegabyte, 1);
  y.backward();  // holds the gradient alone
  EXPECT_EQ(meter.held_bytes() / kMegabyte, 1);
  EXPECT_GE(meter.peak_bytes() / kMegabyte, 3);
}

}  // namespace
}  // namespace gpt
