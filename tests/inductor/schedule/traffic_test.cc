#include "inductor/schedule/traffic.h"

#include <string>

#include <gtest/gtest.h>

#include "inductor/ir/text.h"

namespace inductor {
namespace {

// "read + written" of the only kernel.
std::string traffic_of(const std::string& text) {
  auto program = parse_loops(text);
  EXPECT_TRUE(program.ok()) << program.status();
  const Traffic t = traffic(*program, std::get<Kernel>(program->body.at(0)));
  return std::to_string(t.read) + " + " + std::to_string(t.written);
}

TEST(Traffic, AnElementIsMovedOnceHoweverManyLoopsReadIt) {
  EXPECT_EQ(traffic_of(R"(loops 1 f(x: f32[64, 100]) -> buf1 {
  buf0: f32[1] local
  buf1: f32[64, 50] output
  kernel f
    for i0 < 64 parallel
      for i1 < 50 reduction
        buf0[0] max= x[100*i0 + i1]
      for i2 < 50
        buf1[50*i0 + i2] = sub(x[100*i0 + i2], buf0[0])
})"),
            "12800 + 12800");
}

TEST(Traffic, AReadByPlaceIsAnElementARead) {
  EXPECT_EQ(traffic_of(R"(loops 1 f(x: f32[1000, 8], ids: i64[4]) -> buf0 {
  buf0: f32[4, 8] output
  kernel f
    for i0 < 4 parallel
      for i1 < 8
        buf0[8*i0 + i1] = x[8*t0 + i1; minimum(maximum(ids[i0], 0:i64), 999:i64)]
})"),
            "160 + 128");
}

TEST(Traffic, NoBufferIsMovedMoreThanWhole) {
  EXPECT_EQ(traffic_of(R"(loops 1 f(x: f32[10]) -> buf0 {
  buf0: f32[8] output
  kernel f
    for i0 < 8 parallel
      for i1 < 3 reduction
        buf0[i0] max= x[i0 + i1]
})"),
            "40 + 32");
}

TEST(Traffic, WhatIsAddedToByPlaceIsReadUnlessMadeThere) {
  const std::string zeros = R"(
    for i0 < 100
      buf0[i0] = 0:f32)";
  const std::string sums = R"(
    for i1 < 4 reduction
      buf0[t0; minimum(maximum(ids[i1], 0:i64), 99:i64)] += x[i1])";
  const std::string head = R"(loops 1 f(x: f32[4], ids: i64[4]) -> buf0 {
  buf0: f32[100] output
  kernel f)";
  EXPECT_EQ(traffic_of(head + sums + "\n  kernel g" + zeros + "\n}"), "64 + 16");
  EXPECT_EQ(traffic_of(head + zeros + sums + "\n}"), "48 + 400");
}

}  // namespace
}  // namespace inductor
