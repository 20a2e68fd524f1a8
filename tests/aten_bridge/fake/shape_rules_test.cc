#include "aten_bridge/fake/shape_rules.h"

#include <algorithm>

#include "aten_bridge/fake/meta_kernels.h"
#include "tests/aten_bridge/fake/sample.h"

namespace aten_bridge {
namespace {

using Ints = std::vector<int64_t>;

c10::IValue none() { return {}; }
at::Tensor f(at::IntArrayRef sizes) { return at::rand(sizes); }
at::Tensor half(at::IntArrayRef sizes) { return at::rand(sizes).to(at::kBFloat16); }
at::Tensor permuted() { return at::rand({4, 2, 3}).permute({1, 2, 0}); }
at::Tensor channels_last(at::IntArrayRef sizes) {
  return at::rand(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}
c10::IValue mask(std::initializer_list<bool> bits) { return c10::List<bool>(bits); }
// [batch, heads, length, dim] as a projection leaves it
at::Tensor heads(int64_t length) { return at::rand({2, length, 4, 8}).transpose(1, 2); }

// 5 steps of 2 sequences, 3 numbers to 4.
BoxedArgs lstm_layer() {
  return {f({5, 2, 3}), f({16, 3}), f({16, 4}), f({16}), f({16}), f({2, 4}), f({2, 4}), false,
          Ints{},       2,          4,          1,       true,    false,     false,     true};
}

BoxedArgs conv(const at::Tensor& x, const at::Tensor& w, Ints stride, Ints padding,
               bool transposed) {
  const Ints ones(x.dim() - 2, 1), zeros(x.dim() - 2, 0);
  return {x, w, none(), stride, padding, ones, transposed, zeros, 1};
}

BoxedArgs conv_backward(const at::Tensor& x, const at::Tensor& w) {
  const at::Tensor y =
      at::convolution(x, w, {}, Ints{1, 1}, Ints{1, 1}, Ints{1, 1}, false, Ints{0, 0}, 1);
  return {at::rand(y.sizes()),
          x,
          w,
          Ints{w.size(0)},
          Ints{1, 1},
          Ints{1, 1},
          Ints{1, 1},
          false,
          Ints{0, 0},
          1,
          mask({true, true, true})};
}

BoxedArgs attention_backward(bool causal) {
  const at::Tensor q = heads(6), k = heads(6), v = heads(6);
  const auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal);
  return {at::rand(out.sizes()), q, k, v, out, lse, 0.0, causal, none(), none()};
}

const Sample kSamples[] = {
    {"aten::gelu",
     [] {
       return BoxedArgs{permuted(), "tanh"};
     }},
    {"aten::gelu",
     [] {
       return BoxedArgs{f({2, 3}), "none"};
     }},
    {"aten::masked_fill.Tensor",
     [] {
       return BoxedArgs{permuted(), f({4}) > 0.5, f({})};
     }},
    {"aten::masked_fill.Tensor",
     [] {
       return BoxedArgs{f({3, 1}), f({2, 1, 4}) > 0.5, f({})};
     }},
    {"aten::resize",
     [] {
       return BoxedArgs{permuted(), Ints{5, 3}, none()};
     }},
    {"aten::resize",
     [] {
       return BoxedArgs{permuted(), Ints{2, 3, 4}, none()};
     }},
    {"aten::resize",
     [] {
       return BoxedArgs{permuted(), Ints{2, 3, 4, 5},
                        static_cast<int64_t>(at::MemoryFormat::ChannelsLast)};
     }},
    {"aten::native_dropout",
     [] {
       return BoxedArgs{permuted(), 0.5, true};
     }},
    {"aten::native_dropout_backward",
     [] {
       return BoxedArgs{permuted(), permuted() > 0.5, 2.0};
     }},
    {"aten::bernoulli",
     [] {
       return BoxedArgs{permuted(), none()};
     }},
    {"aten::bernoulli.p",
     [] {
       return BoxedArgs{permuted(), 0.5, none()};
     }},
    {"aten::where.self",
     [] {
       return BoxedArgs{permuted() > 0.5, permuted(), f({})};
     }},
    {"aten::where.self",
     [] {
       return BoxedArgs{f({3, 1}) > 0.5, at::ones({3, 4}, at::kLong), f({4})};
     }},
    {"aten::max",
     [] {
       return BoxedArgs{f({2, 3})};
     }},
    {"aten::min",
     [] {
       return BoxedArgs{f({2, 3})};
     }},
    {"aten::prod",
     [] {
       return BoxedArgs{at::ones({2, 3}, at::kInt), none()};
     }},
    {"aten::var.correction",
     [] {
       return BoxedArgs{permuted(), Ints{1}, none(), false};
     }},
    {"aten::var.correction",
     [] {
       return BoxedArgs{permuted(), none(), none(), true};
     }},
    {"aten::std.correction",
     [] {
       return BoxedArgs{permuted(), Ints{0, -1}, none(), true};
     }},
    {"aten::var_mean.correction",
     [] {
       return BoxedArgs{permuted(), Ints{2}, none(), true};
     }},
    {"aten::std_mean.correction",
     [] {
       return BoxedArgs{permuted(), none(), none(), false};
     }},
    {"aten::embedding",
     [] {
       return BoxedArgs{f({9, 4}), at::zeros({2, 3}, at::kLong), -1, false, false};
     }},
    {"aten::mkldnn_rnn_layer", [] { return lstm_layer(); }},
    {"aten::mkldnn_rnn_layer_backward",
     [] {
       const BoxedArgs in = lstm_layer();
       torch::jit::Stack out(in.begin(), in.end());
       find_operator("aten::mkldnn_rnn_layer").callBoxed(&out);
       BoxedArgs args(in.begin(), in.begin() + 7);
       args.insert(args.end(), out.begin(), out.begin() + 3);  // output, hy, cy
       args.insert(args.end(), out.begin(), out.begin() + 3);  // their gradients
       const BoxedArgs rest{false, 2, 4, 1, true, true, false, Ints{}, false, out[3]};
       args.insert(args.end(), rest.begin(), rest.end());
       return args;
     }},
    {"aten::embedding_renorm",
     [] {
       return BoxedArgs{f({9, 4}).t(), at::zeros({2}, at::kLong), 1.5, 2.0};
     }},
    {"aten::affine_grid_generator",
     [] {
       return BoxedArgs{f({2, 3, 4}), Ints{2, 5, 3, 4, 6}, true};
     }},
    {"aten::embedding_dense_backward",
     [] {
       return BoxedArgs{f({2, 3, 4}), at::zeros({2, 3}, at::kLong), 9, -1, false};
     }},
    {"aten::index_select",
     [] {
       return BoxedArgs{permuted(), -1, at::zeros({7}, at::kLong)};
     }},
    {"aten::logsumexp",
     [] {
       return BoxedArgs{f({2, 3}), Ints{1}, false};
     }},
    {"aten::mse_loss_backward",
     [] {
       return BoxedArgs{f({}), permuted(), permuted(), 1};
     }},
    {"aten::smooth_l1_loss_backward",
     [] {
       return BoxedArgs{f({}), permuted(), permuted(), 1, 1.0};
     }},
    {"aten::flip",
     [] {
       return BoxedArgs{permuted(), Ints{1}};
     }},
    {"aten::native_layer_norm",
     [] {
       return BoxedArgs{permuted(), Ints{4}, f({4}), f({4}), 1e-5};
     }},
    {"aten::native_layer_norm",
     [] {
       return BoxedArgs{f({2, 3, 4}), Ints{3, 4}, none(), none(), 1e-5};
     }},
    {"aten::native_layer_norm",
     [] {
       return BoxedArgs{half({2, 4}), Ints{4}, f({4}), f({4}), 1e-5};
     }},
    {"aten::native_layer_norm",
     [] {
       return BoxedArgs{half({2, 4}), Ints{4}, half({4}), half({4}), 1e-5};
     }},
    {"aten::native_layer_norm_backward",
     [] {
       return BoxedArgs{f({2, 3, 4}), permuted(), Ints{4}, f({2, 3, 1}),
                        f({2, 3, 1}), f({4}),     f({4}),  mask({true, true, true})};
     }},
    {"aten::native_layer_norm_backward",
     [] {
       return BoxedArgs{f({2, 3, 4}), permuted(), Ints{4}, f({2, 3, 1}),
                        f({2, 3, 1}), f({4}),     f({4}),  mask({true, false, false})};
     }},
    {"aten::native_group_norm",
     [] {
       return BoxedArgs{f({2, 6, 4, 4}), f({6}), f({6}), 2, 6, 16, 3, 1e-5};
     }},
    {"aten::native_group_norm",
     [] {
       return BoxedArgs{channels_last({2, 6, 4, 4}), f({6}), f({6}), 2, 6, 16, 3, 1e-5};
     }},
    {"aten::native_group_norm_backward",
     [] {
       return BoxedArgs{
           f({2, 6, 4, 4}),         f({2, 6, 4, 4}), f({2, 3}), f({2, 3}), f({6}), 2, 6, 16, 3,
           mask({true, true, true})};
     }},
    {"aten::native_batch_norm",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), f({3}), f({3}), f({3}), f({3}), false, 0.1, 1e-5};
     }},
    {"aten::native_batch_norm",
     [] {
       return BoxedArgs{
           channels_last({2, 3, 4, 4}), f({3}), f({3}), f({3}), f({3}), true, 0.1, 1e-5};
     }},
    {"aten::_native_batch_norm_legit.no_stats",
     [] {
       return BoxedArgs{f({2, 3, 4}), none(), none(), true, 0.1, 1e-5};
     }},
    {"aten::_native_batch_norm_legit_functional",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), f({3}), f({3}), f({3}), f({3}), true, 0.1, 1e-5};
     }},
    {"aten::native_batch_norm_backward",
     [] {
       return BoxedArgs{f({2, 3, 4, 4}), f({2, 3, 4, 4}), f({3}), f({3}), f({3}),
                        f({3}),          f({3}),          true,   1e-5,   mask({true, true, true})};
     }},
    {"aten::convolution",
     [] {
       return conv(f({2, 3, 8, 9}), f({4, 3, 3, 3}), {2, 1}, {1, 1}, false);
     }},
    {"aten::convolution",
     [] {
       return conv(channels_last({2, 3, 8, 8}), f({4, 3, 3, 3}), {1, 1}, {0, 0}, false);
     }},
    {"aten::convolution",
     [] {
       return conv(f({2, 3, 8, 8}), f({3, 4, 2, 2}), {2, 2}, {0, 0}, true);
     }},
    {"aten::convolution",
     [] {
       return conv(f({2, 3, 8}), f({4, 3, 3}), {1}, {1}, false);
     }},
    {"aten::convolution_backward",
     [] {
       return conv_backward(f({2, 3, 8, 8}), f({4, 3, 3, 3}));
     }},
    {"aten::convolution_backward",
     [] {
       return conv_backward(channels_last({2, 3, 8, 8}), f({4, 3, 3, 3}));
     }},
    {"aten::_adaptive_avg_pool2d",
     [] {
       return BoxedArgs{f({2, 3, 8, 8}), Ints{2, 3}};
     }},
    {"aten::_adaptive_avg_pool2d",
     [] {
       return BoxedArgs{channels_last({2, 3, 8, 8}), Ints{2, 3}};
     }},
    {"aten::_adaptive_avg_pool2d_backward",
     [] {
       return BoxedArgs{f({2, 3, 2, 2}), f({2, 3, 8, 8})};
     }},
    {"aten::_scaled_dot_product_flash_attention_for_cpu",
     [] { return BoxedArgs{heads(6), heads(6), heads(6), 0.0, true, none(), none()}; }},
    {"aten::_scaled_dot_product_flash_attention_for_cpu",
     [] {
       return BoxedArgs{heads(6).to(at::kBFloat16),
                        heads(9).to(at::kBFloat16),
                        heads(9).to(at::kBFloat16),
                        0.0,
                        false,
                        none(),
                        none()};
     }},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
     [] { return attention_backward(true); }},
};

// Rules for kernels that only CUDA has: no sample call runs here.
constexpr std::string_view kOnlyOnCuda[] = {
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_cudnn_attention_backward",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_flash_attention_backward",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_efficient_attention_backward",
};

class EveryShapeRule : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryShapeRule, GivesTheCpuKernelsGeometry) { expect_all_agree(kSamples, GetParam()); }

std::vector<std::string_view> rules_of_the_cpu() {
  std::vector<std::string_view> ops;
  for (const auto& family : shape_rule_families())
    for (const ShapeRule& rule : family)
      if (std::find(std::begin(kOnlyOnCuda), std::end(kOnlyOnCuda), rule.op) ==
          std::end(kOnlyOnCuda))
        ops.push_back(rule.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(ShapeRules, EveryShapeRule, testing::ValuesIn(rules_of_the_cpu()),
                         operator_test_name);

// Fakes on CUDA, without a driver: pins what the kernels gave on an H200.
std::string geometry_on_cuda(std::string_view op, const std::vector<c10::IValue>& args) {
  Graph graph;
  std::vector<c10::IValue> fakes = args;
  map_tensors(fakes, [&](const at::Tensor& t) {
    const Value value = graph.add_input("x", TensorType{});
    return make_fake(meta_twin_of_real(t), c10::Device(c10::kCUDA, 0), value);
  });
  return geometry(infer(find_operator(op), find_shape_source(find_operator(op)), fakes).results);
}

TEST(ShapeRules, OfCudnnAttention) {
  const at::Tensor q = heads(6).to(at::kBFloat16), k = heads(9).to(at::kBFloat16);
  const std::string statistics = "undefined undefined number number Long[][] Long[][] undefined ";
  EXPECT_EQ(geometry_on_cuda("aten::_scaled_dot_product_cudnn_attention",
                             {q, k, k, none(), true, 0.0, false, false, none()}),
            "BFloat16[2, 4, 6, 8][192, 8, 32, 1] Float[2, 4, 6, 1][24, 6, 1, 1] " + statistics);
  EXPECT_EQ(geometry_on_cuda("aten::_scaled_dot_product_cudnn_attention",
                             {q.contiguous(), k, k, none(), true, 0.0, false, false, none()}),
            "BFloat16[2, 4, 6, 8][192, 48, 8, 1] Float[2, 4, 6, 1][24, 6, 1, 1] " + statistics);
}

TEST(ShapeRules, OfFlashAttention) {
  const at::Tensor q = heads(6).to(at::kBFloat16), k = heads(9).to(at::kBFloat16), x = q;
  EXPECT_EQ(geometry_on_cuda("aten::_scaled_dot_product_flash_attention",
                             {q, k, k, 0.0, true, false, none()}),
            "BFloat16[2, 4, 6, 8][192, 8, 32, 1] Float[2, 4, 6][24, 6, 1] undefined undefined "
            "number number UInt64[2][1] UInt64[][] BFloat16[0][1] ");
  EXPECT_EQ(geometry_on_cuda("aten::_scaled_dot_product_flash_attention_backward",
                             {x, q, k, k, x, x, none(), none(), 6, 9, 0.0, true, x, x, none()}),
            "BFloat16[2, 4, 6, 8][192, 8, 32, 1] BFloat16[2, 4, 9, 8][288, 8, 32, 1] "
            "BFloat16[2, 4, 9, 8][288, 8, 32, 1] ");
}

TEST(ShapeRules, OfEfficientAttention) {
  const at::Tensor q = heads(6), k = heads(9), v = at::rand({2, 9, 4, 16}).transpose(1, 2);
  EXPECT_EQ(geometry_on_cuda("aten::_scaled_dot_product_efficient_attention",
                             {q, k, v, none(), true, 0.0, false, none()}),
            "Float[2, 4, 6, 16][384, 16, 64, 1] Float[2, 4, 32][128, 32, 1] Long[][] Long[][] ");
  const at::Tensor bias = at::rand({2, 4, 6, 9}), x = at::rand({1});
  EXPECT_EQ(geometry_on_cuda(
                "aten::_scaled_dot_product_efficient_attention_backward",
                {x, q, k, v, bias, x, x, x, x, 0.0, mask({true, true, true, true}), false, none()}),
            "Float[2, 4, 6, 8][192, 8, 32, 1] Float[2, 4, 9, 8][288, 8, 32, 1] "
            "Float[2, 4, 9, 16][576, 16, 64, 1] Float[2, 4, 6, 9][384, 96, 16, 1] ");
}

// cuFFT transforms one dimension of a dense copy.
TEST(ShapeRules, OfComplexToRealTransforms) {
  const at::Tensor x = at::rand({2, 3, 4}, at::kComplexFloat).permute({2, 0, 1});
  EXPECT_EQ(geometry_on_cuda("aten::_fft_c2r", {x, Ints{2}, 0, 4}), "Float[4, 2, 4][8, 4, 1] ");
  EXPECT_EQ(geometry_on_cuda("aten::_fft_c2r", {x, Ints{1}, 0, 2}), "Float[4, 2, 3][6, 1, 2] ");
  EXPECT_EQ(geometry_on_cuda("aten::_fft_c2r", {x, Ints{0, 2}, 0, 4}), "Float[4, 2, 4][4, 16, 1] ");
}

TEST(ShapeRules, AnOperatorHasOneRuleOrAMetaKernel) {
  std::vector<std::string_view> ops;
  for (const auto& family : shape_rule_families())
    for (const ShapeRule& rule : family) {
      ops.push_back(rule.op);
      EXPECT_FALSE(meta_kernel_is_tested(rule.op)) << rule.op;
    }
  std::sort(ops.begin(), ops.end());
  EXPECT_EQ(std::adjacent_find(ops.begin(), ops.end()), ops.end());
}

}  // namespace
}  // namespace aten_bridge
