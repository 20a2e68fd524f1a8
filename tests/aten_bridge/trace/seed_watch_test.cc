#include "aten_bridge/trace/seed_watch.h"

#include <optional>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

class SeedWatchTest : public ::testing::Test {
 protected:
  at::Generator generator() const { return generator_; }
  at::Tensor draw() { return at::rand({3}, generator_); }
  // The numbers of a generator of this seed that nobody watches.
  static at::Tensor drawn(uint64_t seed, int before = 0) {
    at::Generator fresh = at::detail::createCPUGenerator(seed);
    for (int i = 0; i < before; ++i) at::rand({3}, fresh);
    return at::rand({3}, fresh);
  }

 private:
  at::Generator generator_ = at::detail::createCPUGenerator(5);
};

TEST_F(SeedWatchTest, ChangesNoNumberThatIsDrawnMeanwhileOrLater) {
  {
    const SeedWatch watch(generator());
    EXPECT_TRUE(draw().equal(drawn(5)));
    EXPECT_FALSE(watch.seeded());
  }
  EXPECT_TRUE(draw().equal(drawn(5, 1)));
  EXPECT_EQ(generator().current_seed(), 5u);
}

TEST_F(SeedWatchTest, SeesTheSameSeedOnceMoreAndTakesItBack) {
  draw();
  {
    const SeedWatch watch(generator());
    generator().set_current_seed(5);
    EXPECT_TRUE(watch.seeded());
  }
  EXPECT_TRUE(draw().equal(drawn(5, 1)));
}

TEST_F(SeedWatchTest, SeesAnotherSeed) {
  const SeedWatch watch(generator());
  generator().set_current_seed(6);
  EXPECT_TRUE(watch.seeded());
}

TEST_F(SeedWatchTest, GoesOnWhenAnotherOfTheSameGeneratorEnds) {
  std::optional<SeedWatch> first(generator());
  std::optional<SeedWatch> second(generator());
  first.reset();
  EXPECT_FALSE(second->seeded());
  std::optional<SeedWatch> third(generator());
  second.reset();
  EXPECT_FALSE(third->seeded());
  third.reset();
  EXPECT_EQ(generator().current_seed(), 5u);
}

TEST_F(SeedWatchTest, ASeedingIsTakenBackOnce) {
  std::optional<SeedWatch> first(generator());
  std::optional<SeedWatch> second(generator());
  generator().set_current_seed(6);
  EXPECT_TRUE(first->seeded());
  first.reset();
  EXPECT_TRUE(draw().equal(drawn(5)));
  EXPECT_TRUE(second->seeded());
  std::optional<SeedWatch> third(generator());
  second.reset();
  EXPECT_FALSE(third->seeded());
  third.reset();
  EXPECT_TRUE(draw().equal(drawn(5, 1)));
  EXPECT_EQ(generator().current_seed(), 5u);
}

}  // namespace
}  // namespace aten_bridge
