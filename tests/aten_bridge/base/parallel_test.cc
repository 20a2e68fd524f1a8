#include "aten_bridge/base/parallel.h"

#include <atomic>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

using ::testing::Each;

TEST(Parallel, EachRunsOnce) {
  for (const size_t count : {0u, 1u, 2u, 7u}) {
    std::vector<int> runs(count);
    for_each_in_parallel(count, [&](size_t i) { ++runs[i]; });
    EXPECT_THAT(runs, Each(1)) << count;
  }
}

TEST(Parallel, TheyRunAtTheSameTimeAndTheLastOnTheCallersThread) {
  std::vector<std::thread::id> threads(2);
  std::atomic<int> begun{0};
  for_each_in_parallel(2, [&](size_t i) {
    threads[i] = std::this_thread::get_id();
    for (++begun; begun < 2;) std::this_thread::yield();  // for the other one
  });
  EXPECT_NE(threads[0], threads[1]);
  EXPECT_EQ(threads[1], std::this_thread::get_id());
}

TEST(Parallel, WhatOneRaisesIsRaisedWhenAllHaveEnded) {
  std::atomic<int> ended{0};
  const auto run = [&](size_t i) {
    if (i == 1) throw std::runtime_error("the second");
    ++ended;
  };
  EXPECT_THROW(for_each_in_parallel(4, run), std::runtime_error);
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace aten_bridge
