// Nearest upsampling over many sizes: its places are rounded, and must be rounded as ATen does.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "tests/inductor/lowering/aten/lowered.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using testing::expect_lowered;
using testing::type_text;

struct Resize {
  int64_t in, out;
  std::optional<double> scale;
};

std::vector<Resize> resizes() {
  std::vector<Resize> all;
  for (int64_t in : {1, 2, 3, 7, 49})
    for (int64_t out : {1, 2, 4, 6, 14, 15, 49, 98, 147}) all.push_back({in, out, std::nullopt});
  for (int64_t in : {2, 5, 30})
    for (double scale : {0.3, 1.5, 1.7, 2.0, 2.3, 2.4142, 3.0})
      if (const auto out = static_cast<int64_t>(static_cast<double>(in) * scale);
          out > 0 && (out != 2 * in || scale == 2))
        all.push_back({in, out, scale});
  return all;
}

TEST(Upsample, NearestReadsTheElementsThatAtenReads) {
  for (const Resize& r : resizes()) {
    const at::Tensor x = at::randn({1, 2, r.in});
    const at::Tensor y = at::upsample_nearest1d(x, {r.out}, r.scale);
    const at::Tensor z = at::_upsample_nearest_exact1d(x, {r.out}, r.scale);
    const std::string arguments = str_cat(
        "(x, output_size=[", r.out, "], scales=", r.scale ? str_cat(*r.scale) : "none", ")\n");
    expect_lowered(str_cat("x: ", type_text(x)), {x},
                   str_cat("  %0: ", type_text(y), " = aten::upsample_nearest1d", arguments,
                           "  %1: ", type_text(z), " = aten::_upsample_nearest_exact1d", arguments,
                           "  return %0, %1\n"),
                   {y, z});
  }
}

TEST(Upsample, GradientsOfNearestGoWhereAtenSendsThem) {
  for (const Resize& r : resizes()) {
    if (r.scale) continue;  // some of them are left to ATen
    const at::Tensor g = at::randn({1, 2, r.out});
    const at::Tensor y = at::upsample_nearest1d_backward(g, {r.out}, {1, 2, r.in});
    const at::Tensor z = at::_upsample_nearest_exact1d_backward(g, {r.out}, {1, 2, r.in});
    const std::string arguments = str_cat("(grad_output=g, output_size=[", r.out,
                                          "], input_size=[1, 2, ", r.in, "], scales=none)\n");
    expect_lowered(
        str_cat("g: ", type_text(g)), {g},
        str_cat("  %0: ", type_text(y), " = aten::upsample_nearest1d_backward", arguments,
                "  %1: ", type_text(z), " = aten::_upsample_nearest_exact1d_backward", arguments,
                "  return %0, %1\n"),
        {y, z});
  }
}

}  // namespace
}  // namespace inductor
