#include "aten_bridge/fake/meta_kernels.h"

#include <algorithm>

#include "tests/aten_bridge/fake/sample.h"

namespace aten_bridge {
namespace {

using Ints = std::vector<int64_t>;

c10::IValue none() { return {}; }
c10::IValue num(double value) { return c10::Scalar(value); }
at::Tensor f(at::IntArrayRef sizes) { return at::rand(sizes); }
at::Tensor longs(at::IntArrayRef sizes) { return at::zeros(sizes, at::kLong); }
at::Tensor permuted() { return at::rand({4, 2, 3}).permute({1, 2, 0}); }
c10::IValue list(std::vector<at::Tensor> tensors) { return c10::List<at::Tensor>(tensors); }
c10::IValue indices(std::vector<std::optional<at::Tensor>> tensors) {
  c10::List<std::optional<at::Tensor>> result;
  for (auto& t : tensors) result.push_back(t);
  return result;
}
constexpr int64_t kFloat = 6, kDouble = 7, kLong = 4;

const Sample kSamples[] = {
    // elementwise operators whose arguments a schema does not tell
    {"aten::clamp",
     [] {
       return BoxedArgs{permuted(), num(0), num(1)};
     }},
    {"aten::clamp.Tensor",
     [] {
       return BoxedArgs{permuted(), f({3, 1}), f({4})};
     }},
    {"aten::gelu_backward",
     [] {
       return BoxedArgs{permuted(), permuted(), "tanh"};
     }},
    {"aten::gelu_backward",
     [] {
       return BoxedArgs{f({2, 3}), f({2, 3}), "none"};
     }},
    {"aten::masked_fill.Scalar",
     [] {
       return BoxedArgs{permuted(), permuted() > 0.5, num(0)};
     }},
    // reductions
    {"aten::sum",
     [] {
       return BoxedArgs{f({2, 3}), none()};
     }},
    {"aten::sum",
     [] {
       return BoxedArgs{longs({2, 3}), none()};
     }},
    {"aten::sum.dim_IntList",
     [] {
       return BoxedArgs{permuted(), Ints{1}, false, none()};
     }},
    {"aten::sum.dim_IntList",
     [] {
       return BoxedArgs{f({2, 3, 4}), Ints{0, 1}, true, none()};
     }},
    {"aten::sum.dim_IntList",
     [] {
       return BoxedArgs{f({2, 3}), none(), false, kDouble};
     }},
    {"aten::mean",
     [] {
       return BoxedArgs{f({2, 3}), none()};
     }},
    {"aten::mean.dim",
     [] {
       return BoxedArgs{permuted(), Ints{-1}, true, none()};
     }},
    {"aten::prod.dim_int",
     [] {
       return BoxedArgs{f({2, 3}), 1, false, none()};
     }},
    {"aten::amax",
     [] {
       return BoxedArgs{permuted(), Ints{1}, true};
     }},
    {"aten::amin",
     [] {
       return BoxedArgs{f({2, 3}), Ints{}, false};
     }},
    {"aten::max.dim",
     [] {
       return BoxedArgs{permuted(), 0, false};
     }},
    {"aten::min.dim",
     [] {
       return BoxedArgs{permuted(), 0, true};
     }},
    {"aten::argmax",
     [] {
       return BoxedArgs{f({2, 3}), 1, false};
     }},
    {"aten::argmin",
     [] {
       return BoxedArgs{f({2, 3}), none(), false};
     }},
    {"aten::any",
     [] {
       return BoxedArgs{f({2, 3})};
     }},
    {"aten::any.dim",
     [] {
       return BoxedArgs{f({2, 3}), 0, false};
     }},
    {"aten::all",
     [] {
       return BoxedArgs{f({2, 3})};
     }},
    {"aten::all.dim",
     [] {
       return BoxedArgs{f({2, 3}), 0, true};
     }},
    {"aten::any.dims",
     [] {
       return BoxedArgs{permuted(), Ints{0, -1}, true};
     }},
    {"aten::all.dims",
     [] {
       return BoxedArgs{permuted(), none(), false};
     }},
    {"aten::cumsum",
     [] {
       return BoxedArgs{permuted(), 1, none()};
     }},
    {"aten::cumprod",
     [] {
       return BoxedArgs{permuted(), 1, none()};
     }},
    {"aten::sort.stable",
     [] {
       return BoxedArgs{permuted(), false, 1, true};
     }},
    {"aten::topk",
     [] {
       return BoxedArgs{f({2, 5}), 3, 1, true, true};
     }},
    {"aten::linalg_vector_norm",
     [] {
       return BoxedArgs{f({2, 3}), num(2), none(), false, none()};
     }},
    {"aten::norm.ScalarOpt_dim",
     [] {
       return BoxedArgs{f({2, 3}), num(2), Ints{1}, true};
     }},
    {"aten::_softmax",
     [] {
       return BoxedArgs{permuted(), 1, false};
     }},
    {"aten::_log_softmax",
     [] {
       return BoxedArgs{permuted(), 2, false};
     }},
    {"aten::_softmax_backward_data",
     [] {
       return BoxedArgs{permuted(), permuted(), 1, kFloat};
     }},
    {"aten::_log_softmax_backward_data",
     [] {
       return BoxedArgs{permuted(), permuted(), 1, kFloat};
     }},
    {"aten::nll_loss_forward",
     [] {
       return BoxedArgs{f({4, 5}), longs({4}), none(), 1, -100};
     }},
    {"aten::nll_loss_forward",
     [] {
       return BoxedArgs{f({4, 5}), longs({4}), none(), 0, -100};
     }},
    {"aten::nll_loss_backward",
     [] {
       return BoxedArgs{f({}), f({4, 5}), longs({4}), none(), 1, -100, f({})};
     }},
    // views
    {"aten::view",
     [] {
       return BoxedArgs{f({2, 3, 4}), Ints{6, -1}};
     }},
    {"aten::view.dtype",
     [] {
       return BoxedArgs{f({2, 4}), kDouble};
     }},
    {"aten::_unsafe_view",
     [] {
       return BoxedArgs{f({2, 3, 4}), Ints{24}};
     }},
    {"aten::_reshape_alias",
     [] {
       return BoxedArgs{f({2, 3}), Ints{3, 2}, Ints{2, 1}};
     }},
    {"aten::expand",
     [] {
       return BoxedArgs{f({3, 1}), Ints{2, 3, 4}, false};
     }},
    {"aten::permute",
     [] {
       return BoxedArgs{f({2, 3, 4}), Ints{2, 0, 1}};
     }},
    {"aten::transpose.int",
     [] {
       return BoxedArgs{f({2, 3, 4}), 0, -1};
     }},
    {"aten::t",
     [] {
       return BoxedArgs{f({2, 3})};
     }},
    {"aten::select.int",
     [] {
       return BoxedArgs{permuted(), 1, 2};
     }},
    {"aten::slice.Tensor",
     [] {
       return BoxedArgs{permuted(), 2, 1, 4, 2};
     }},
    {"aten::split.Tensor",
     [] {
       return BoxedArgs{f({5, 3}), 2, 0};
     }},
    {"aten::split_with_sizes",
     [] {
       return BoxedArgs{f({5, 3}), Ints{1, 4}, 0};
     }},
    {"aten::unbind.int",
     [] {
       return BoxedArgs{f({3, 2}), 0};
     }},
    {"aten::squeeze",
     [] {
       return BoxedArgs{f({1, 3, 1})};
     }},
    {"aten::squeeze.dim",
     [] {
       return BoxedArgs{f({1, 3, 1}), 0};
     }},
    {"aten::squeeze.dims",
     [] {
       return BoxedArgs{f({1, 3, 1}), Ints{0, 2}};
     }},
    {"aten::unsqueeze",
     [] {
       return BoxedArgs{permuted(), 1};
     }},
    {"aten::as_strided",
     [] {
       return BoxedArgs{f({4, 5}), Ints{2, 3}, Ints{1, 4}, 2};
     }},
    {"aten::alias", [] { return BoxedArgs{permuted()}; }},
    {"aten::detach", [] { return BoxedArgs{permuted()}; }},
    {"aten::diagonal",
     [] {
       return BoxedArgs{f({3, 4}), 1, 0, 1};
     }},
    {"aten::unfold",
     [] {
       return BoxedArgs{f({3, 8}), 1, 3, 2};
     }},
    {"aten::lift_fresh", [] { return BoxedArgs{f({3})}; }},
    {"aten::lift", [] { return BoxedArgs{f({3})}; }},
    // indexing
    {"aten::cat",
     [] {
       return BoxedArgs{list({f({2, 3}), f({1, 3})}), 0};
     }},
    {"aten::cat",
     [] {
       return BoxedArgs{list({permuted(), permuted()}), 1};
     }},
    {"aten::stack",
     [] {
       return BoxedArgs{list({permuted(), permuted()}), 1};
     }},
    {"aten::gather",
     [] {
       return BoxedArgs{f({3, 4}), 1, longs({3, 2}), false};
     }},
    {"aten::index.Tensor",
     [] {
       return BoxedArgs{f({3, 4, 5}), indices({longs({2}), longs({2})})};
     }},
    {"aten::_unsafe_index.Tensor",
     [] {
       return BoxedArgs{f({3, 4, 5}), indices({longs({2}), longs({2})})};
     }},
    {"aten::index.Tensor",
     [] {
       return BoxedArgs{f({3, 4, 5}), indices({longs({2}), std::nullopt, longs({6, 2})})};
     }},
    {"aten::index.Tensor",
     [] {
       return BoxedArgs{permuted(), indices({std::nullopt, longs({6})})};
     }},
    {"aten::scatter.src",
     [] {
       return BoxedArgs{permuted(), 1, longs({2, 1, 4}), f({2, 1, 4})};
     }},
    {"aten::scatter.value",
     [] {
       return BoxedArgs{permuted(), 1, longs({2, 1, 4}), num(1)};
     }},
    {"aten::scatter_add",
     [] {
       return BoxedArgs{permuted(), 1, longs({2, 1, 4}), f({2, 1, 4})};
     }},
    {"aten::index_add",
     [] {
       return BoxedArgs{f({3, 4}), 0, longs({2}), f({2, 4}), num(1)};
     }},
    {"aten::select_backward",
     [] {
       return BoxedArgs{f({2, 4}), Ints{2, 3, 4}, 1, 0};
     }},
    {"aten::slice_backward",
     [] {
       return BoxedArgs{f({2, 1}), Ints{2, 3}, 1, 0, 1, 1};
     }},
    {"aten::select_scatter",
     [] {
       return BoxedArgs{permuted(), f({2, 4}), 1, 0};
     }},
    {"aten::slice_scatter",
     [] {
       return BoxedArgs{permuted(), f({2, 1, 4}), 1, 0, 1, 1};
     }},
    {"aten::as_strided_scatter",
     [] {
       return BoxedArgs{f({4, 5}), f({2, 3}), Ints{2, 3}, Ints{5, 1}, 0};
     }},
    {"aten::diagonal_scatter",
     [] {
       return BoxedArgs{f({3, 3}), f({3}), 0, 0, 1};
     }},
    {"aten::tril",
     [] {
       return BoxedArgs{f({3, 4}), 0};
     }},
    {"aten::triu",
     [] {
       return BoxedArgs{permuted(), 1};
     }},
    {"aten::constant_pad_nd",
     [] {
       return BoxedArgs{permuted(), Ints{1, 2, 0, 1}, num(0)};
     }},
    {"aten::repeat",
     [] {
       return BoxedArgs{permuted(), Ints{2, 1, 1, 3}};
     }},
    {"aten::index_put",
     [] {
       return BoxedArgs{permuted(), indices({longs({2})}), f({2, 3, 4}), false};
     }},
    {"aten::unsafe_split.Tensor",
     [] {
       return BoxedArgs{f({5, 3}), 2, 0};
     }},
    {"aten::masked_scatter",
     [] {
       return BoxedArgs{permuted(), permuted() > 2, f({24})};
     }},
    // factories and copies
    {"aten::empty.memory_format",
     [] {
       return BoxedArgs{Ints{2, 3}, kLong, none(), none(), none(), none()};
     }},
    {"aten::empty_strided",
     [] {
       return BoxedArgs{Ints{2, 3}, Ints{1, 2}, kFloat, none(), none(), none()};
     }},
    {"aten::empty_like",
     [] { return BoxedArgs{permuted(), none(), none(), none(), none(), none()}; }},
    {"aten::zeros",
     [] {
       return BoxedArgs{Ints{2, 3}, none(), none(), none(), none()};
     }},
    {"aten::zeros_like",
     [] { return BoxedArgs{permuted(), none(), none(), none(), none(), none()}; }},
    {"aten::ones",
     [] {
       return BoxedArgs{Ints{2, 3}, kLong, none(), none(), none()};
     }},
    {"aten::ones_like", [] { return BoxedArgs{permuted(), kDouble, none(), none(), none(), 0}; }},
    {"aten::full", [] { return BoxedArgs{Ints{2}, num(2), none(), none(), none(), none()}; }},
    {"aten::full", [] { return BoxedArgs{Ints{2}, 2, none(), none(), none(), none()}; }},
    {"aten::full_like",
     [] { return BoxedArgs{permuted(), num(2), none(), none(), none(), none(), none()}; }},
    {"aten::new_empty", [] { return BoxedArgs{f({2}), Ints{3}, kLong, none(), none(), none()}; }},
    {"aten::new_empty_strided",
     [] {
       return BoxedArgs{f({2}), Ints{3, 2}, Ints{1, 3}, none(), none(), none(), none()};
     }},
    {"aten::new_zeros", [] { return BoxedArgs{f({2}), Ints{3}, none(), none(), none(), none()}; }},
    {"aten::new_ones", [] { return BoxedArgs{f({2}), Ints{3}, none(), none(), none(), none()}; }},
    {"aten::new_full",
     [] { return BoxedArgs{f({2}), Ints{3}, num(1), none(), none(), none(), none()}; }},
    {"aten::arange",
     [] {
       return BoxedArgs{5, none(), none(), none(), none()};
     }},
    {"aten::arange.start", [] { return BoxedArgs{1, 5, none(), none(), none(), none()}; }},
    {"aten::arange.start_step",
     [] { return BoxedArgs{num(1), 5, 2, none(), none(), none(), none()}; }},
    {"aten::scalar_tensor",
     [] {
       return BoxedArgs{num(1.5), none(), none(), none(), none()};
     }},
    {"aten::rand",
     [] {
       return BoxedArgs{Ints{2, 3}, none(), none(), none(), none()};
     }},
    {"aten::randn",
     [] {
       return BoxedArgs{Ints{2, 3}, none(), none(), none(), none()};
     }},
    {"aten::rand_like",
     [] { return BoxedArgs{permuted(), none(), none(), none(), none(), none()}; }},
    {"aten::randn_like",
     [] { return BoxedArgs{permuted(), none(), none(), none(), none(), none()}; }},
    {"aten::randint", [] { return BoxedArgs{5, Ints{2}, kLong, none(), none(), none()}; }},
    {"aten::randint.low", [] { return BoxedArgs{1, 5, Ints{2}, kLong, none(), none(), none()}; }},
    {"aten::eye",
     [] {
       return BoxedArgs{3, none(), none(), none(), none()};
     }},
    {"aten::eye.m", [] { return BoxedArgs{3, 4, none(), none(), none(), none()}; }},
    {"aten::linspace", [] { return BoxedArgs{num(0), num(1), 5, none(), none(), none(), none()}; }},
    {"aten::normal_functional",
     [] {
       return BoxedArgs{permuted(), 0.0, 1.0, none()};
     }},
    {"aten::uniform",
     [] {
       return BoxedArgs{permuted(), 0.0, 1.0, none()};
     }},
    {"aten::clone",
     [] {
       return BoxedArgs{permuted(), none()};
     }},
    {"aten::clone",
     [] {
       return BoxedArgs{permuted(), 0};
     }},
    {"aten::clone",
     [] {
       return BoxedArgs{f({3, 1}).expand({3, 4}), none()};
     }},
    {"aten::_to_copy",
     [] { return BoxedArgs{permuted(), kDouble, none(), none(), none(), false, none()}; }},
    {"aten::copy",
     [] {
       return BoxedArgs{permuted(), f({2, 3, 4}), false};
     }},
    {"aten::fill.Scalar",
     [] {
       return BoxedArgs{permuted(), num(1)};
     }},
    {"aten::fill.Tensor",
     [] {
       return BoxedArgs{permuted(), f({})};
     }},
    // matrix products and pooling
    {"aten::mm",
     [] {
       return BoxedArgs{f({2, 3}), f({4, 3}).t()};
     }},
    {"aten::addmm",
     [] {
       return BoxedArgs{f({4}), f({2, 3}), f({3, 4}), num(1), num(1)};
     }},
    {"aten::bmm",
     [] {
       return BoxedArgs{f({5, 2, 3}), f({5, 4, 3}).transpose(1, 2)};
     }},
    {"aten::baddbmm",
     [] {
       return BoxedArgs{f({5, 2, 4}), f({5, 2, 3}), f({5, 3, 4}), num(1), num(1)};
     }},
    {"aten::max_pool2d_with_indices",
     [] {
       return BoxedArgs{f({2, 3, 8, 8}), Ints{2}, Ints{2}, Ints{0}, Ints{1}, false};
     }},
    {"aten::max_pool2d_with_indices_backward",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), f({2, 3, 8, 8}), Ints{2}, Ints{2},
                        Ints{0},         Ints{1},         false,   longs({2, 3, 4, 4})};
     }},
    {"aten::avg_pool2d",
     [] {
       return BoxedArgs{f({2, 3, 8, 8}), Ints{2}, Ints{2}, Ints{0}, false, true, none()};
     }},
    {"aten::avg_pool2d_backward",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), f({2, 3, 8, 8}), Ints{2}, Ints{2},
                        Ints{0},         false,           true,    none()};
     }},
    {"aten::upsample_nearest2d",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), Ints{8, 8}, none(), none()};
     }},
    {"aten::upsample_bilinear2d",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), Ints{8, 8}, false, none(), none()};
     }},
};

class EveryTestedMetaKernel : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryTestedMetaKernel, GivesTheCpuKernelsGeometry) {
  expect_all_agree(kSamples, GetParam());
}

std::vector<std::string_view> all_tested() {
  std::vector<std::string_view> ops;
  for (const auto& family : tested_meta_kernels())
    ops.insert(ops.end(), family.begin(), family.end());
  return ops;
}

INSTANTIATE_TEST_SUITE_P(MetaKernels, EveryTestedMetaKernel, testing::ValuesIn(all_tested()),
                         operator_test_name);

TEST(MetaKernels, AnOperatorStandsOnTheListOnce) {
  std::vector<std::string_view> ops = all_tested();
  std::sort(ops.begin(), ops.end());
  EXPECT_EQ(std::adjacent_find(ops.begin(), ops.end()), ops.end());
}

}  // namespace
}  // namespace aten_bridge
