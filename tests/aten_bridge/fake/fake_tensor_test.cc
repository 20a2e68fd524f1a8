#include "aten_bridge/fake/fake_tensor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

class FakeTensor : public testing::Test {
 protected:
  at::Tensor fake_of(const at::Tensor& real) {
    value_ = graph_.add_input("x", TensorType{});
    return make_fake(meta_twin_of_real(real), real.device(), value_);
  }

  Graph graph_;
  Value value_;
};

TEST_F(FakeTensor, LooksLikeTheRealOne) {
  const at::Tensor real = at::rand({4, 6}).t().slice(0, 1, 5);
  const at::Tensor fake = fake_of(real);
  EXPECT_EQ(fake.sizes(), real.sizes());
  EXPECT_EQ(fake.strides(), real.strides());
  EXPECT_EQ(fake.storage_offset(), real.storage_offset());
  EXPECT_EQ(fake.storage().nbytes(), real.storage().nbytes());
  EXPECT_EQ(fake.dtype(), real.dtype());
  EXPECT_TRUE(fake.is_cpu());
  EXPECT_TRUE(is_fake(fake));
  EXPECT_FALSE(is_fake(real));
}

TEST_F(FakeTensor, HasNoData) {
  const at::Tensor fake = fake_of(at::rand({2}));
  forbid_data(fake);
  EXPECT_THROW(fake.data_ptr(), c10::Error);
  EXPECT_THROW(fake.const_data_ptr<float>(), c10::Error);
}

TEST_F(FakeTensor, CopiesStandForTheSameValue) {
  const at::Tensor fake = fake_of(at::rand({2}));
  EXPECT_EQ(value_of(fake.variable_data()), value_);
}

TEST_F(FakeTensor, OfACudaTensorNeedsNoDriver) {
  const at::Tensor fake =
      make_fake(meta_twin_of_real(at::rand({2})), c10::Device(c10::kCUDA, 1), value_);
  EXPECT_TRUE(fake.is_cuda());
  EXPECT_EQ(fake.get_device(), 1);
}

TEST_F(FakeTensor, OutsideOfACaptureOperatorsSayThatItHoldsNoData) {
  const at::Tensor fake = fake_of(at::rand({2}));
  try {
    at::add(fake, fake);
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("it holds no data"), std::string::npos);
  }
}

}  // namespace
}  // namespace aten_bridge
