// Pooling over many geometries: values, places and gradients are ATen's.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "tests/inductor/lowering/aten/lowered.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using testing::expect_lowered;
using testing::type_text;

struct Geometry {
  int64_t size, kernel, stride, padding, dilation;
  bool ceil_mode;
};

// Dilation may step over all of a short dimension; there ATen writes outside of its tensors.
bool every_window_holds_something(const Geometry& g) {
  return g.dilation == 1 || g.padding == 0 || g.size > g.dilation;
}

std::vector<Geometry> geometries() {
  std::vector<Geometry> all;
  for (int64_t size : {1, 6, 9})
    for (int64_t kernel : {1, 2, 3})
      for (int64_t stride : {1, 2, 4})
        for (int64_t padding = 0; padding <= kernel / 2; ++padding)
          for (int64_t dilation : {1, 2})
            for (bool ceil_mode : {false, true})
              if (size + 2 * padding >= dilation * (kernel - 1) + 1)
                all.push_back({size, kernel, stride, padding, dilation, ceil_mode});
  std::erase_if(all, [](const Geometry& g) { return !every_window_holds_something(g); });
  return all;
}

// Numbers of few values, so that windows hold ties.
at::Tensor input_of(int64_t size) { return at::randint(-3, 4, {1, size, 4}, at::kFloat); }

TEST(Pool, MaximaTheirPlacesAndGradientsAreAtens) {
  for (const Geometry& g : geometries()) {
    const at::Tensor x = input_of(g.size);
    x[0][0][1] = NAN;
    x[0][g.size - 1].slice(0, 2).fill_(-INFINITY);
    const auto [y, places] = at::max_pool2d_with_indices(
        x, {g.kernel, 3}, {g.stride, 2}, {g.padding, 1}, {g.dilation, 1}, g.ceil_mode);
    const at::Tensor dy = at::randn(y.sizes());
    const at::Tensor dx = at::max_pool2d_with_indices_backward(
        dy, x, {g.kernel, 3}, {g.stride, 2}, {g.padding, 1}, {g.dilation, 1}, g.ceil_mode, places);
    const std::string geometry =
        str_cat("kernel_size=[", g.kernel, ", 3], stride=[", g.stride, ", 2], padding=[", g.padding,
                ", 1], dilation=[", g.dilation, ", 1], ceil_mode=", g.ceil_mode ? "true" : "false");
    expect_lowered(
        str_cat("x: ", type_text(x), ", dy: ", type_text(dy)), {x, dy},
        str_cat("  %0: ", type_text(y), ", %1: ", type_text(places),
                " = aten::max_pool2d_with_indices(x, ", geometry, ")\n  %2: ", type_text(dx),
                " = aten::max_pool2d_with_indices_backward(grad_output=dy, x, ", geometry,
                ", indices=%1)\n  return %0, %1, %2\n"),
        {y, places, dx});
  }
}

TEST(Pool, MeansAndGradientsAreAtens) {
  for (const Geometry& g : geometries())
    for (bool with_padding : {false, true}) {
      if (g.dilation != 1) continue;
      const at::Tensor x = input_of(g.size);
      const at::Tensor y = at::avg_pool2d(x, {g.kernel, 3}, {g.stride, 2}, {g.padding, 1},
                                          g.ceil_mode, with_padding);
      const at::Tensor dy = at::randn(y.sizes());
      const at::Tensor dx =
          at::avg_pool2d_backward(dy, x, {g.kernel, 3}, {g.stride, 2}, {g.padding, 1}, g.ceil_mode,
                                  with_padding, std::nullopt);
      const std::string geometry = str_cat(
          "kernel_size=[", g.kernel, ", 3], stride=[", g.stride, ", 2], padding=[", g.padding,
          ", 1], ceil_mode=", g.ceil_mode ? "true" : "false",
          ", count_include_pad=", with_padding ? "true" : "false", ", divisor_override=none");
      expect_lowered(
          str_cat("x: ", type_text(x), ", dy: ", type_text(dy)), {x, dy},
          str_cat("  %0: ", type_text(y), " = aten::avg_pool2d(x, ", geometry,
                  ")\n  %1: ", type_text(dx), " = aten::avg_pool2d_backward(grad_output=dy, x, ",
                  geometry, ")\n  return %0, %1\n"),
          {y, dx});
    }
}

TEST(Pool, AdaptiveWindowsAreAtens) {
  for (int64_t in : {1, 4, 7})
    for (int64_t out : {1, 2, 3, 7, 10}) {
      const at::Tensor x = input_of(in);
      const at::Tensor y = at::_adaptive_avg_pool2d(x, {out, 4});
      const auto [most, places] = at::adaptive_max_pool2d(x, {out, 4});
      const at::Tensor dy = at::randn(y.sizes());
      const at::Tensor dx = at::_adaptive_avg_pool2d_backward(dy, x);
      const at::Tensor dmost = at::adaptive_max_pool2d_backward(dy, x, places);
      const std::string size = str_cat("output_size=[", out, ", 4]");
      expect_lowered(
          str_cat("x: ", type_text(x), ", dy: ", type_text(dy)), {x, dy},
          str_cat("  %0: ", type_text(y), " = aten::_adaptive_avg_pool2d(x, ", size,
                  ")\n  %1: ", type_text(dx),
                  " = aten::_adaptive_avg_pool2d_backward(grad_output=dy, x)\n  %2: ",
                  type_text(most), ", %3: ", type_text(places), " = aten::adaptive_max_pool2d(x, ",
                  size, ")\n  %4: ", type_text(dmost),
                  " = aten::adaptive_max_pool2d_backward(grad_output=dy, x, indices=%3)\n"
                  "  return %0, %1, %2, %3, %4\n"),
          {y, dx, most, places, dmost});
    }
}

}  // namespace
}  // namespace inductor
