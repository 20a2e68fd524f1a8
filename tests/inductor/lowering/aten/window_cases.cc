// Pooling and upsampling: windows that divide evenly and not, padding, ceil_mode, dilation,
// layouts.
#include "absl/strings/str_split.h"

#include "aten_bridge/base/str_cat.h"
#include "tests/inductor/lowering/aten/cases.h"

namespace inductor::testing {
namespace {

constexpr std::string_view kCases = R"(
x: f32[2, 3, 6, 8] | f32[2, 3, 3, 4] | aten::avg_pool2d(x, kernel_size=[2, 2], stride=[], padding=[0, 0], ceil_mode=false, count_include_pad=true, divisor_override=none)
x: f32[3, 7, 7] | f32[3, 4, 4] | aten::avg_pool2d(x, kernel_size=[3], stride=[2], padding=[1], ceil_mode=true, count_include_pad=false, divisor_override=none)
x: f32[2, 3, 6, 7]{126, 1, 21, 3} | f32[2, 3, 4, 4]{48, 1, 12, 3} | aten::avg_pool2d(x, kernel_size=[3, 2], stride=[2, 2], padding=[1, 0], ceil_mode=true, count_include_pad=true, divisor_override=none)
x: bf16[1, 2, 5, 5] | bf16[1, 2, 2, 2] | aten::avg_pool2d(x, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], ceil_mode=false, count_include_pad=true, divisor_override=3)
g: f32[2, 3, 3, 4], x: f32[2, 3, 6, 8] | f32[2, 3, 6, 8] | aten::avg_pool2d_backward(grad_output=g, x, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], ceil_mode=false, count_include_pad=true, divisor_override=none)
g: f32[2, 3, 4, 4], x: f32[2, 3, 7, 7] | f32[2, 3, 7, 7] | aten::avg_pool2d_backward(grad_output=g, x, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], ceil_mode=true, count_include_pad=false, divisor_override=none)
g: f64[2, 2, 2], x: f64[2, 7, 7] | f64[2, 7, 7] | aten::avg_pool2d_backward(grad_output=g, x, kernel_size=[2, 2], stride=[4, 4], padding=[0, 0], ceil_mode=false, count_include_pad=true, divisor_override=none)
x: f32[2, 3, 4, 5, 6] | f32[2, 3, 2, 3, 3] | aten::avg_pool3d(x, kernel_size=[2, 2, 2], stride=[2, 2, 2], padding=[0, 1, 0], ceil_mode=false, count_include_pad=false, divisor_override=none)
g: f32[3, 2, 3, 3], x: f32[3, 4, 5, 6] | f32[3, 4, 5, 6] | aten::avg_pool3d_backward(grad_output=g, x, kernel_size=[2, 2, 2], stride=[2, 2, 2], padding=[0, 1, 0], ceil_mode=false, count_include_pad=false, divisor_override=none)
x: f32[2, 3, 6, 8] | f32[2, 3, 3, 2] | aten::_adaptive_avg_pool2d(x, output_size=[3, 2])
x: f32[2, 3, 7, 5] | f32[2, 3, 3, 8] | aten::_adaptive_avg_pool2d(x, output_size=[3, 8])
x: f32[2, 3, 6, 8]{144, 1, 24, 3} | f32[2, 3, 4, 3]{36, 1, 9, 3} | aten::_adaptive_avg_pool2d(x, output_size=[4, 3])
g: f32[2, 3, 3, 2], x: f32[2, 3, 6, 8] | f32[2, 3, 6, 8] | aten::_adaptive_avg_pool2d_backward(grad_output=g, x)
g: f32[2, 3, 3, 8], x: f32[2, 3, 7, 5] | f32[2, 3, 7, 5] | aten::_adaptive_avg_pool2d_backward(grad_output=g, x)
x: f32[3, 4, 5, 6] | f32[3, 2, 2, 4] | aten::_adaptive_avg_pool3d(x, output_size=[2, 2, 4])
g: f32[3, 2, 2, 4], x: f32[3, 4, 5, 6] | f32[3, 4, 5, 6] | aten::_adaptive_avg_pool3d_backward(grad_output=g, x)
x: f32[2, 3, 6, 8] | f32[2, 3, 3, 4], i64[2, 3, 3, 4] | aten::max_pool2d_with_indices(x, kernel_size=[2, 2], stride=[], padding=[0, 0], dilation=[1, 1], ceil_mode=false)
x: f32[3, 7, 7] | f32[3, 4, 4], i64[3, 4, 4] | aten::max_pool2d_with_indices(x, kernel_size=[3], stride=[2], padding=[1], dilation=[1], ceil_mode=false)
x: f32[1, 2, 9, 9]{162, 1, 18, 2} | f32[1, 2, 4, 4]{32, 1, 8, 2}, i64[1, 2, 4, 4]{32, 1, 8, 2} | aten::max_pool2d_with_indices(x, kernel_size=[3, 2], stride=[2, 3], padding=[1, 1], dilation=[2, 3], ceil_mode=true)
x: bf16[2, 6, 8] | bf16[2, 3, 4], i64[2, 3, 4] | aten::max_pool2d_with_indices(x, kernel_size=[2, 3], stride=[2, 2], padding=[0, 1], dilation=[1, 1], ceil_mode=false)
x: i64[2, 6, 8] | i64[2, 3, 4], i64[2, 3, 4] | aten::max_pool2d_with_indices(x, kernel_size=[2, 3], stride=[2, 2], padding=[0, 1], dilation=[1, 1], ceil_mode=false)
g: f32[2, 1, 1], x: f32[2, 1, 3], ids: i64[2, 1, 1] | f32[2, 1, 3] | aten::max_pool2d_with_indices_backward(grad_output=g, x, kernel_size=[1, 3], stride=[1, 1], padding=[0, 0], dilation=[1, 1], ceil_mode=false, indices=ids)
x: f32[2, 4, 5, 6] | f32[2, 2, 3, 3], i64[2, 2, 3, 3] | aten::max_pool3d_with_indices(x, kernel_size=[2, 3, 2], stride=[2, 2, 2], padding=[0, 1, 0], dilation=[1, 1, 1], ceil_mode=false)
g: f32[2, 1, 1, 1], x: f32[2, 1, 1, 3], ids: i64[2, 1, 1, 1] | f32[2, 1, 1, 3] | aten::max_pool3d_with_indices_backward(grad_output=g, x, kernel_size=[1, 1, 3], stride=[1, 1, 1], padding=[0, 0, 0], dilation=[1, 1, 1], ceil_mode=false, indices=ids)
x: f32[2, 3, 7, 5] | f32[2, 3, 3, 4], i64[2, 3, 3, 4] | aten::adaptive_max_pool2d(x, output_size=[3, 4])
g: f32[2, 1, 1], x: f32[2, 1, 3], ids: i64[2, 1, 1] | f32[2, 1, 3] | aten::adaptive_max_pool2d_backward(grad_output=g, x, indices=ids)
x: f32[3, 4, 5, 6] | f32[3, 2, 2, 4], i64[3, 2, 2, 4] | aten::adaptive_max_pool3d(x, output_size=[2, 2, 4])
g: f32[2, 1, 1, 1], x: f32[2, 1, 1, 3], ids: i64[2, 1, 1, 1] | f32[2, 1, 1, 3] | aten::adaptive_max_pool3d_backward(grad_output=g, x, indices=ids)
x: f32[2, 3, 5] | f32[2, 3, 10] | aten::upsample_nearest1d(x, output_size=[10], scales=none)
x: f32[2, 3, 5] | f32[2, 3, 7] | aten::upsample_nearest1d(x, output_size=[7], scales=1.4142)
x: f32[1, 2, 4, 6]{48, 1, 12, 2} | f32[1, 2, 3, 9]{54, 1, 18, 2} | aten::upsample_nearest2d(x, output_size=[3, 9], scales_h=none, scales_w=none)
x: u8[1, 2, 4, 6] | u8[1, 2, 8, 15] | aten::upsample_nearest2d(x, output_size=[8, 15], scales_h=2.0, scales_w=2.5)
x: bf16[1, 2, 2, 3, 4] | bf16[1, 2, 4, 3, 10] | aten::upsample_nearest3d(x, output_size=[4, 3, 10], scales_d=none, scales_h=none, scales_w=none)
x: f32[2, 3, 5] | f32[2, 3, 7] | aten::_upsample_nearest_exact1d(x, output_size=[7], scales=none)
x: f32[2, 3, 5] | f32[2, 3, 7] | aten::_upsample_nearest_exact1d(x, output_size=[7], scales=1.4142)
x: f32[1, 2, 4, 6] | f32[1, 2, 8, 4] | aten::_upsample_nearest_exact2d(x, output_size=[8, 4], scales_h=2.0, scales_w=none)
x: f32[1, 2, 2, 3, 4] | f32[1, 2, 4, 3, 10] | aten::_upsample_nearest_exact3d(x, output_size=[4, 3, 10], scales_d=none, scales_h=none, scales_w=none)
g: f32[2, 3, 10] | f32[2, 3, 5] | aten::upsample_nearest1d_backward(grad_output=g, output_size=[10], input_size=[2, 3, 5], scales=none)
g: f32[1, 2, 3, 9] | f32[1, 2, 4, 6] | aten::upsample_nearest2d_backward(grad_output=g, output_size=[3, 9], input_size=[1, 2, 4, 6], scales_h=none, scales_w=none)
g: f32[1, 2, 4, 3, 10] | f32[1, 2, 2, 3, 4] | aten::upsample_nearest3d_backward(grad_output=g, output_size=[4, 3, 10], input_size=[1, 2, 2, 3, 4], scales_d=none, scales_h=none, scales_w=none)
g: f32[2, 3, 7] | f32[2, 3, 5] | aten::_upsample_nearest_exact1d_backward(grad_output=g, output_size=[7], input_size=[2, 3, 5], scales=none)
g: f32[1, 2, 8, 4] | f32[1, 2, 4, 6] | aten::_upsample_nearest_exact2d_backward(grad_output=g, output_size=[8, 4], input_size=[1, 2, 4, 6], scales_h=2.0, scales_w=none)
g: bf16[1, 2, 4, 3, 8] | bf16[1, 2, 2, 3, 4] | aten::_upsample_nearest_exact3d_backward(grad_output=g, output_size=[4, 3, 8], input_size=[1, 2, 2, 3, 4], scales_d=none, scales_h=none, scales_w=none)
x: f32[2, 3, 5] | f32[2, 3, 7] | aten::upsample_linear1d(x, output_size=[7], align_corners=false, scales=none)
x: f32[2, 3, 5] | f32[2, 3, 10] | aten::upsample_linear1d(x, output_size=[10], align_corners=true, scales=2.0)
x: f32[1, 2, 4, 6] | f32[1, 2, 3, 9] | aten::upsample_bilinear2d(x, output_size=[3, 9], align_corners=false, scales_h=none, scales_w=1.4142)
x: f32[1, 3, 4, 6]{72, 1, 18, 3} | f32[1, 3, 4, 1]{12, 1, 3, 3} | aten::upsample_bilinear2d(x, output_size=[4, 1], align_corners=true, scales_h=none, scales_w=none)
x: bf16[1, 2, 4, 6] | bf16[1, 2, 8, 12] | aten::upsample_bilinear2d(x, output_size=[8, 12], align_corners=false, scales_h=2.0, scales_w=2.0)
x: f64[1, 2, 2, 3, 4] | f64[1, 2, 4, 3, 10] | aten::upsample_trilinear3d(x, output_size=[4, 3, 10], align_corners=false, scales_d=none, scales_h=none, scales_w=none)
x: f32[1, 2, 4, 6] | f32[1, 2, 3, 9] | aten::upsample_bicubic2d(x, output_size=[3, 9], align_corners=false, scales_h=none, scales_w=none)
x: f32[1, 2, 4, 6] | f32[1, 2, 8, 6] | aten::upsample_bicubic2d(x, output_size=[8, 6], align_corners=true, scales_h=none, scales_w=none)
)";

}  // namespace

std::vector<std::string> window_cases() {
  std::vector<std::string> cases;
  for (absl::string_view line :
       absl::StrSplit(aten_bridge::to_absl(kCases), '\n', absl::SkipEmpty()))
    cases.emplace_back(line);
  return cases;
}

}  // namespace inductor::testing
