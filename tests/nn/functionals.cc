// Every functional of torch::nn.
#include "tests/nn/row.h"

namespace nn_rows {
namespace {

// F::name(x[0], options), F::name(x[0], x[1], options) and F::name(x[0], x[1], x[2], options).
template <class Function, class... Options>
Row unary(std::string name, std::function<Tensors()> inputs, Function* function,
          Options... options) {
  return functional(std::move(name), std::move(inputs),
                    [=](const Tensors& x) { return function(x[0], options...); });
}
template <class Function, class... Options>
Row binary(std::string name, std::function<Tensors()> inputs, Function* function,
           Options... options) {
  return functional(std::move(name), std::move(inputs),
                    [=](const Tensors& x) { return function(x[0], x[1], options...); });
}
template <class Function, class... Options>
Row ternary(std::string name, std::function<Tensors()> inputs, Function* function,
            Options... options) {
  return functional(std::move(name), std::move(inputs),
                    [=](const Tensors& x) { return function(x[0], x[1], x[2], options...); });
}
// A function that writes its argument, here a temporary.
template <class Function, class... Options>
Row in_place(const std::string& name, std::function<Tensors()> inputs, Function* function,
             Options... options) {
  return functional(name + "/in_place", std::move(inputs),
                    [=](const Tensors& x) { return function(x[0] * 2, options...); });
}

void add_linear(std::vector<Row>& rows) {
  rows.push_back(ternary("linear", normal({{2, 5, 4}, {3, 4}, {3}}), F::linear));
  rows.push_back(binary("linear/no_bias", normal({{2, 4}, {3, 4}}), F::linear, Tensor()));
  rows.push_back(functional("bilinear", normal({{6, 4}, {6, 3}, {5, 4, 3}, {5}}),
                            [](const Tensors& x) { return F::bilinear(x[0], x[1], x[2], x[3]); }));
  rows.push_back(
      ternary("bilinear/no_bias", normal({{6, 4}, {6, 3}, {5, 4, 3}}), F::bilinear, Tensor()));
}

void add_convolutions(std::vector<Row>& rows) {
  rows.push_back(functional("conv1d", normal({{2, 3, 9}, {4, 3, 3}, {4}}), [](const Tensors& x) {
    return F::conv1d(x[0], x[1], F::Conv1dFuncOptions().bias(x[2]).stride(2).padding(1));
  }));
  rows.push_back(
      functional("conv2d", normal({{1, 4, 7, 7}, {6, 2, 3, 3}, {6}}), [](const Tensors& x) {
        return F::conv2d(
            x[0], x[1],
            F::Conv2dFuncOptions().bias(x[2]).groups(2).stride(2).padding(1).dilation(2));
      }));
  rows.push_back(binary("conv2d/same", normal({{2, 3, 6, 6}, {4, 3, 3, 3}}), F::conv2d,
                        F::Conv2dFuncOptions().padding(torch::kSame)));
  rows.push_back(
      functional("conv3d", normal({{1, 2, 5, 5, 5}, {3, 2, 3, 3, 3}, {3}}), [](const Tensors& x) {
        return F::conv3d(x[0], x[1], F::Conv3dFuncOptions().bias(x[2]).stride({1, 2, 1}));
      }));
  rows.push_back(
      functional("conv_transpose1d", normal({{2, 3, 7}, {3, 4, 3}, {4}}), [](const Tensors& x) {
        return F::conv_transpose1d(
            x[0], x[1],
            F::ConvTranspose1dFuncOptions().bias(x[2]).stride(2).padding(1).output_padding(1));
      }));
  rows.push_back(functional(
      "conv_transpose2d", normal({{1, 4, 4, 4}, {4, 3, 3, 3}, {6}}), [](const Tensors& x) {
        return F::conv_transpose2d(
            x[0], x[1],
            F::ConvTranspose2dFuncOptions().bias(x[2]).groups(2).stride(2).dilation({1, 2}));
      }));
  rows.push_back(binary("conv_transpose3d", normal({{1, 2, 3, 3, 3}, {2, 3, 2, 3, 2}}),
                        F::conv_transpose3d,
                        F::ConvTranspose3dFuncOptions().stride({1, 2, 1}).padding(1)));
}

void add_normalisations(std::vector<Row>& rows) {
  // Values, running statistics, weight and bias.
  const std::function<Tensors()> four = uniform({{3, 4, 5}, {4}, {4}, {4}, {4}});
  rows.push_back(functional("batch_norm", four, [](const Tensors& x) {
    return F::batch_norm(x[0], x[1].detach(), x[2].detach(),
                         F::BatchNormFuncOptions().weight(x[3]).bias(x[4]).eps(1e-3));
  }));
  rows.push_back(functional("batch_norm/training", four, [](const Tensors& x) {
    const Tensor mean = x[1].detach().clone(), variance = x[2].detach().clone();
    const Tensor y = F::batch_norm(
        x[0], mean, variance,
        F::BatchNormFuncOptions().weight(x[3]).bias(x[4]).training(true).momentum(0.2));
    return std::make_tuple(y, mean, variance);
  }));
  rows.push_back(functional("batch_norm/without_statistics", four, [](const Tensors& x) {
    return F::batch_norm(x[0], Tensor(), Tensor(), F::BatchNormFuncOptions().training(true));
  }));
  rows.push_back(unary("instance_norm", four, F::instance_norm, F::InstanceNormFuncOptions()));
  rows.push_back(functional("instance_norm/statistics", four, [](const Tensors& x) {
    const Tensor mean = x[1].detach().clone(), variance = x[2].detach().clone();
    const Tensor y = F::instance_norm(x[0], F::InstanceNormFuncOptions()
                                                .running_mean(mean)
                                                .running_var(variance)
                                                .weight(x[3])
                                                .bias(x[4])
                                                .momentum(0.2));
    return std::make_tuple(y, mean, variance);
  }));
  rows.push_back(functional("instance_norm/running", four, [](const Tensors& x) {
    return F::instance_norm(x[0], F::InstanceNormFuncOptions()
                                      .running_mean(x[1].detach())
                                      .running_var(x[2].detach())
                                      .use_input_stats(false));
  }));
  rows.push_back(
      functional("layer_norm", normal({{3, 4, 5}, {4, 5}, {4, 5}}), [](const Tensors& x) {
        return F::layer_norm(x[0],
                             F::LayerNormFuncOptions({4, 5}).weight(x[1]).bias(x[2]).eps(1e-3));
      }));
  rows.push_back(
      unary("layer_norm/plain", normal({{3, 4, 5}}), F::layer_norm, F::LayerNormFuncOptions({5})));
  rows.push_back(functional("group_norm", normal({{3, 6, 4, 4}, {6}, {6}}), [](const Tensors& x) {
    return F::group_norm(x[0], F::GroupNormFuncOptions(2).weight(x[1]).bias(x[2]).eps(1e-3));
  }));
  rows.push_back(unary("local_response_norm", normal({{2, 6, 4, 4}}), F::local_response_norm,
                       F::LocalResponseNormFuncOptions(3).alpha(0.1).beta(0.5).k(2)));
  rows.push_back(unary("normalize", normal({{3, 4, 5}}), F::normalize, F::NormalizeFuncOptions()));
  rows.push_back(unary("normalize/third", normal({{3, 4, 5}}), F::normalize,
                       F::NormalizeFuncOptions().p(3).dim(-1).eps(1e-3)));
}

void add_dropouts(std::vector<Row>& rows) {
  const std::function<Tensors()> matrix = normal({{8, 9}}), plane = normal({{4, 6, 3, 3}}),
                                 space = normal({{4, 6, 2, 3, 2}});
  const auto third = F::DropoutFuncOptions().p(0.3);
  rows.push_back(unary("dropout", matrix, F::dropout, third));
  rows.push_back(
      in_place("dropout", matrix, F::dropout, F::DropoutFuncOptions().p(0.3).inplace(true)));
  rows.push_back(unary("dropout2d", plane, F::dropout2d, third));
  rows.push_back(unary("dropout3d", space, F::dropout3d, third));
  rows.push_back(unary("alpha_dropout", matrix, F::alpha_dropout,
                       F::AlphaDropoutFuncOptions().p(0.3).training(true)));
  rows.push_back(in_place("alpha_dropout", matrix, F::alpha_dropout,
                          F::AlphaDropoutFuncOptions().p(0.3).training(true).inplace(true)));
  rows.push_back(unary("feature_alpha_dropout", plane, F::feature_alpha_dropout,
                       F::FeatureAlphaDropoutFuncOptions().p(0.3).training(true)));
}

void add_embeddings(std::vector<Row>& rows) {
  const auto ids = [](std::vector<int64_t> sizes) {
    return [=] { return Tensors{torch::randint(7, sizes), torch::randn({7, 5})}; };
  };
  rows.push_back(unary(
      "one_hot",
      [] {
        return Tensors{torch::randint(7, {3, 4})};
      },
      F::one_hot, 7));
  rows.push_back(unary(
      "one_hot/counted",
      [] {
        return Tensors{torch::arange(6).view({2, 3})};
      },
      F::one_hot, -1));
  rows.push_back(binary("embedding", ids({3, 4}), F::embedding, F::EmbeddingFuncOptions()));
  rows.push_back(binary("embedding/padding", ids({3, 4}), F::embedding,
                        F::EmbeddingFuncOptions().padding_idx(-2).scale_grad_by_freq(true)));
  rows.push_back(functional("embedding/max_norm", ids({3, 4}), [](const Tensors& x) {
    const Tensor table = x[1] * 2;
    const Tensor y = F::embedding(x[0], table, F::EmbeddingFuncOptions().max_norm(1.5));
    return std::make_tuple(y, table);
  }));
  rows.push_back(
      binary("embedding_bag", ids({3, 4}), F::embedding_bag, F::EmbeddingBagFuncOptions()));
  rows.push_back(functional(
      "embedding_bag/sum",
      [] {
        return Tensors{torch::randint(7, {3, 4}), torch::randn({7, 5}), torch::rand({3, 4})};
      },
      [](const Tensors& x) {
        return F::embedding_bag(
            x[0], x[1], F::EmbeddingBagFuncOptions().mode(torch::kSum).per_sample_weights(x[2]));
      }));
  rows.push_back(binary("embedding_bag/max", ids({3, 4}), F::embedding_bag,
                        F::EmbeddingBagFuncOptions().mode(torch::kMax)));
  rows.push_back(functional(
      "embedding_bag/offsets",
      [] {
        return Tensors{torch::randint(7, {9}), torch::randn({7, 5}), torch::tensor({0, 2, 2, 6})};
      },
      [](const Tensors& x) {
        return F::embedding_bag(x[0], x[1],
                                F::EmbeddingBagFuncOptions().offsets(x[2]).padding_idx(3));
      }));
}

void add_pooling(std::vector<Row>& rows) {
  const std::function<Tensors()> line = normal({{2, 3, 8}}), plane = normal({{2, 3, 8, 7}}),
                                 space = normal({{1, 2, 5, 6, 5}});
  rows.push_back(
      unary("avg_pool1d", line, F::avg_pool1d, F::AvgPool1dFuncOptions(3).stride(2).padding(1)));
  rows.push_back(unary(
      "avg_pool2d", plane, F::avg_pool2d,
      F::AvgPool2dFuncOptions(3).stride(2).padding(1).count_include_pad(false).ceil_mode(true)));
  rows.push_back(unary("avg_pool2d/divisor", plane, F::avg_pool2d,
                       F::AvgPool2dFuncOptions({3, 2}).divisor_override(5)));
  rows.push_back(unary("avg_pool3d", space, F::avg_pool3d,
                       F::AvgPool3dFuncOptions(2).stride({2, 1, 2}).padding({1, 0, 1})));

  const auto every_second1 = F::MaxPool1dFuncOptions(3).stride(2).padding(1);
  const auto every_second2 = F::MaxPool2dFuncOptions(2).stride(2).padding(1).dilation(2);
  const auto every_second3 = F::MaxPool3dFuncOptions(3).stride(2).padding(1).ceil_mode(true);
  rows.push_back(unary("max_pool1d", line, F::max_pool1d, every_second1));
  rows.push_back(unary("max_pool2d", plane, F::max_pool2d, every_second2));
  rows.push_back(unary("max_pool3d", space, F::max_pool3d, every_second3));
  rows.push_back(unary("max_pool1d_with_indices", line, F::max_pool1d_with_indices, every_second1));
  rows.push_back(
      unary("max_pool2d_with_indices", plane, F::max_pool2d_with_indices, every_second2));
  rows.push_back(
      unary("max_pool3d_with_indices", space, F::max_pool3d_with_indices, every_second3));

  // What was pooled, and from where.
  rows.push_back(binary(
      "max_unpool1d",
      [] {
        return flat(torch::max_pool1d_with_indices(torch::randn({2, 3, 8}), 2));
      },
      F::max_unpool1d, F::MaxUnpool1dFuncOptions(2)));
  rows.push_back(binary(
      "max_unpool2d",
      [] {
        return flat(torch::max_pool2d_with_indices(torch::randn({2, 3, 5, 4}), 2));
      },
      F::max_unpool2d, F::MaxUnpool2dFuncOptions(2).output_size(std::vector<int64_t>{2, 3, 5, 4})));
  rows.push_back(binary(
      "max_unpool3d",
      [] {
        return flat(torch::max_pool3d_with_indices(torch::randn({2, 3, 4, 4, 4}), 2));
      },
      F::max_unpool3d, F::MaxUnpool3dFuncOptions(2)));

  // Its windows lie at random.
  rows.push_back(unary("fractional_max_pool2d", plane, F::fractional_max_pool2d,
                       F::FractionalMaxPool2dFuncOptions(2).output_size(3)));
  rows.push_back(unary("fractional_max_pool3d", space, F::fractional_max_pool3d,
                       F::FractionalMaxPool3dFuncOptions(2).output_size(2)));
  rows.push_back(unary("fractional_max_pool2d_with_indices", plane,
                       F::fractional_max_pool2d_with_indices,
                       F::FractionalMaxPool2dFuncOptions(2).output_ratio(
                           torch::ExpandingArray<2, double>({0.5, 0.6}))));
  rows.push_back(unary("fractional_max_pool3d_with_indices", space,
                       F::fractional_max_pool3d_with_indices,
                       F::FractionalMaxPool3dFuncOptions(2).output_ratio(
                           torch::ExpandingArray<3, double>({0.5, 0.5, 0.6}))));

  rows.push_back(unary("lp_pool1d", uniform({{2, 3, 8}}), F::lp_pool1d,
                       F::LPPool1dFuncOptions(3, 3).stride(2)));
  rows.push_back(unary("lp_pool2d", uniform({{2, 3, 8, 7}}), F::lp_pool2d,
                       F::LPPool2dFuncOptions(2, {3, 2}).stride(2).ceil_mode(true)));
  rows.push_back(
      unary("lp_pool3d", uniform({{2, 3, 4, 4, 4}}), F::lp_pool3d, F::LPPool3dFuncOptions(2, 2)));
}

void add_adaptive_pooling(std::vector<Row>& rows) {
  const std::function<Tensors()> line = normal({{2, 3, 8}}), plane = normal({{2, 3, 8, 7}}),
                                 space = normal({{1, 2, 5, 6, 5}});
  rows.push_back(unary("adaptive_avg_pool1d", line, F::adaptive_avg_pool1d,
                       F::AdaptiveAvgPool1dFuncOptions(3)));
  rows.push_back(unary("adaptive_avg_pool2d", plane, F::adaptive_avg_pool2d,
                       F::AdaptiveAvgPool2dFuncOptions({3, std::nullopt})));
  rows.push_back(unary("adaptive_avg_pool3d", space, F::adaptive_avg_pool3d,
                       F::AdaptiveAvgPool3dFuncOptions({2, 3, 5})));
  rows.push_back(unary("adaptive_max_pool1d", line, F::adaptive_max_pool1d,
                       F::AdaptiveMaxPool1dFuncOptions(3)));
  rows.push_back(unary("adaptive_max_pool2d", plane, F::adaptive_max_pool2d,
                       F::AdaptiveMaxPool2dFuncOptions({3, std::nullopt})));
  rows.push_back(unary("adaptive_max_pool3d", space, F::adaptive_max_pool3d,
                       F::AdaptiveMaxPool3dFuncOptions({2, 3, 5})));
  rows.push_back(unary("adaptive_max_pool1d_with_indices", line,
                       F::adaptive_max_pool1d_with_indices, F::AdaptiveMaxPool1dFuncOptions(3)));
  rows.push_back(unary("adaptive_max_pool2d_with_indices", plane,
                       F::adaptive_max_pool2d_with_indices,
                       F::AdaptiveMaxPool2dFuncOptions({4, 2})));
  rows.push_back(unary("adaptive_max_pool3d_with_indices", space,
                       F::adaptive_max_pool3d_with_indices, F::AdaptiveMaxPool3dFuncOptions(2)));
}

void add_padding(std::vector<Row>& rows) {
  const std::function<Tensors()> line = normal({{2, 3, 5}}), plane = normal({{2, 3, 5, 4}});
  rows.push_back(
      unary("pad/constant", plane, F::pad, F::PadFuncOptions({1, 2, -1, 0, 1, 0}).value(0.5)));
  rows.push_back(
      unary("pad/reflect", plane, F::pad, F::PadFuncOptions({1, 2, 3, 0}).mode(torch::kReflect)));
  rows.push_back(
      unary("pad/replicate", line, F::pad, F::PadFuncOptions({3, 1}).mode(torch::kReplicate)));
  rows.push_back(
      unary("pad/circular", plane, F::pad, F::PadFuncOptions({1, 2, 3, 0}).mode(torch::kCircular)));
}

void add_pointwise(std::vector<Row>& rows) {
  const std::function<Tensors()> x = normal({{5, 8}});
  rows.push_back(unary("elu", x, F::elu, F::ELUFuncOptions().alpha(0.7)));
  rows.push_back(in_place("elu", x, F::elu, F::ELUFuncOptions().alpha(0.7).inplace(true)));
  rows.push_back(unary("selu", x, F::selu, F::SELUFuncOptions()));
  rows.push_back(in_place("selu", x, F::selu, F::SELUFuncOptions(true)));
  rows.push_back(unary("celu", x, F::celu, F::CELUFuncOptions().alpha(0.7)));
  rows.push_back(in_place("celu", x, F::celu, F::CELUFuncOptions().alpha(0.7).inplace(true)));
  rows.push_back(unary("gelu", x, F::gelu, F::GELUFuncOptions()));
  rows.push_back(unary("gelu/tanh", x, F::gelu, F::GELUFuncOptions().approximate("tanh")));
  rows.push_back(unary("hardshrink", x, F::hardshrink, F::HardshrinkFuncOptions(0.4)));
  rows.push_back(
      unary("hardtanh", x, F::hardtanh, F::HardtanhFuncOptions().min_val(-0.5).max_val(0.7)));
  rows.push_back(in_place("hardtanh", x, F::hardtanh, F::HardtanhFuncOptions().inplace(true)));
  rows.push_back(
      unary("leaky_relu", x, F::leaky_relu, F::LeakyReLUFuncOptions().negative_slope(0.2)));
  rows.push_back(in_place("leaky_relu", x, F::leaky_relu, F::LeakyReLUFuncOptions().inplace(true)));
  rows.push_back(unary("logsigmoid", x, F::logsigmoid));
  rows.push_back(unary("silu", x, F::silu));
  rows.push_back(unary("mish", x, F::mish));
  rows.push_back(binary("prelu", normal({{3, 4, 5}, {4}}), F::prelu));
  rows.push_back(unary("relu", x, F::relu, F::ReLUFuncOptions()));
  rows.push_back(in_place("relu", x, F::relu, F::ReLUFuncOptions(true)));
  rows.push_back(unary("relu6", x, F::relu6, F::ReLU6FuncOptions()));
  rows.push_back(in_place("relu6", x, F::relu6, F::ReLU6FuncOptions(true)));
  rows.push_back(
      unary("rrelu", x, F::rrelu, F::RReLUFuncOptions().lower(0.1).upper(0.4).training(true)));
  rows.push_back(unary("rrelu/inference", x, F::rrelu, F::RReLUFuncOptions()));
  rows.push_back(
      in_place("rrelu", x, F::rrelu, F::RReLUFuncOptions().training(true).inplace(true)));
  rows.push_back(unary("softplus", x, F::softplus, F::SoftplusFuncOptions().beta(2).threshold(1)));
  rows.push_back(unary("softshrink", x, F::softshrink, F::SoftshrinkFuncOptions(0.4)));
  rows.push_back(unary("softsign", x, F::softsign));
  rows.push_back(unary("tanhshrink", x, F::tanhshrink));
  rows.push_back(unary("threshold", x, F::threshold, F::ThresholdFuncOptions(0.1, 0.7)));
  rows.push_back(
      in_place("threshold", x, F::threshold, F::ThresholdFuncOptions(0.1, 0.7).inplace(true)));
}

void add_softmaxes(std::vector<Row>& rows) {
  const std::function<Tensors()> x = normal({{3, 4, 6}});
  rows.push_back(unary("glu", x, F::glu, F::GLUFuncOptions(1)));
  rows.push_back(unary("softmax", x, F::softmax, F::SoftmaxFuncOptions(1)));
  rows.push_back(
      unary("softmax/double", x, F::softmax, F::SoftmaxFuncOptions(-1).dtype(torch::kDouble)));
  rows.push_back(unary("softmin", x, F::softmin, F::SoftminFuncOptions(1)));
  rows.push_back(unary("log_softmax", x, F::log_softmax, F::LogSoftmaxFuncOptions(1)));
  rows.push_back(
      unary("gumbel_softmax", x, F::gumbel_softmax, F::GumbelSoftmaxFuncOptions().tau(0.7)));
  rows.push_back(unary("gumbel_softmax/hard", x, F::gumbel_softmax,
                       F::GumbelSoftmaxFuncOptions().hard(true).dim(1)));
}

void add_attention(std::vector<Row>& rows) {
  // Query, key and value, then weight and bias into and out of the heads.
  const auto inputs = [](Sizes more = {}) {
    Sizes sizes = {{5, 2, 8}, {6, 2, 8}, {6, 2, 8}, {24, 8}, {24}, {8, 8}, {8}};
    sizes.insert(sizes.end(), more.begin(), more.end());
    return normal(sizes);
  };
  const auto options = [](const Tensors& x, double dropout = 0) {
    return F::MultiheadAttentionForwardFuncOptions(8, 2, x[3], x[4], {}, {}, false, dropout, x[5],
                                                   x[6]);
  };
  rows.push_back(functional("multi_head_attention_forward", inputs(), [=](const Tensors& x) {
    return F::multi_head_attention_forward(x[0], x[1], x[2], options(x));
  }));
  // Without biases into the heads: the key's has no gradient but rounding errors.
  rows.push_back(functional("multi_head_attention_forward/self", inputs(), [=](const Tensors& x) {
    return F::multi_head_attention_forward(
        x[0], x[0], x[0], options(x, 0.3).in_proj_bias(Tensor()).average_attn_weights(false));
  }));
  rows.push_back(
      functional("multi_head_attention_forward/masked", inputs({{5, 6}}), [=](const Tensors& x) {
        const Tensor last =
            torch::arange(6, x[0].options().dtype(torch::kLong).requires_grad(false)) > 4;
        return F::multi_head_attention_forward(
            x[0], x[1], x[2],
            options(x).attn_mask(x[7]).key_padding_mask(last.expand({2, 6})).need_weights(false));
      }));
  rows.push_back(
      functional("multi_head_attention_forward/separate",
                 inputs({{8, 8}, {8, 8}, {8, 8}, {1, 1, 8}, {1, 1, 8}}), [=](const Tensors& x) {
                   return F::multi_head_attention_forward(x[0], x[1], x[2],
                                                          options(x)
                                                              .use_separate_proj_weight(true)
                                                              .q_proj_weight(x[7])
                                                              .k_proj_weight(x[8])
                                                              .v_proj_weight(x[9])
                                                              .bias_k(x[10])
                                                              .bias_v(x[11])
                                                              .add_zero_attn(true));
                 }));
}

void add_vision(std::vector<Row>& rows) {
  rows.push_back(
      unary("fold", normal({{2, 12, 4}}), F::fold,
            F::FoldFuncOptions({4, 5}, {2, 2}).stride({2, 1}).padding({1, 0}).dilation({2, 3})));
  rows.push_back(unary("unfold", normal({{2, 3, 4, 5}}), F::unfold,
                       F::UnfoldFuncOptions({2, 2}).padding(1).stride({1, 2}).dilation({2, 1})));
  rows.push_back(unary("pixel_shuffle", normal({{2, 8, 3, 3}}), F::pixel_shuffle,
                       F::PixelShuffleFuncOptions(2)));
  rows.push_back(unary("pixel_unshuffle", normal({{2, 3, 4, 6}}), F::pixel_unshuffle,
                       F::PixelUnshuffleFuncOptions(2)));
  rows.push_back(functional("affine_grid", normal({{2, 2, 3}}), [](const Tensors& x) {
    return F::affine_grid(x[0], {2, 3, 4, 5});
  }));
  rows.push_back(functional("affine_grid/aligned", normal({{2, 3, 4}}), [](const Tensors& x) {
    return F::affine_grid(x[0], {2, 3, 4, 5, 3}, /*align_corners=*/true);
  }));
  const std::function<Tensors()> plane = normal({{2, 3, 5, 4}, {2, 4, 3, 2}});
  rows.push_back(binary("grid_sample", plane, F::grid_sample,
                        F::GridSampleFuncOptions().align_corners(false)));
  rows.push_back(binary("grid_sample/nearest", plane, F::grid_sample,
                        F::GridSampleFuncOptions()
                            .mode(torch::kNearest)
                            .padding_mode(torch::kBorder)
                            .align_corners(false)));
  rows.push_back(
      binary("grid_sample/reflection", plane, F::grid_sample,
             F::GridSampleFuncOptions().padding_mode(torch::kReflection).align_corners(true)));
  rows.push_back(binary("grid_sample/volume", normal({{1, 2, 4, 4, 3}, {1, 3, 2, 3, 3}}),
                        F::grid_sample, F::GridSampleFuncOptions().align_corners(false)));
}

void add_interpolations(std::vector<Row>& rows) {
  const std::function<Tensors()> line = normal({{2, 3, 5}}), plane = normal({{2, 3, 5, 4}}),
                                 space = normal({{1, 2, 3, 4, 3}});
  const auto to = [](std::vector<int64_t> size, auto mode) {
    return F::InterpolateFuncOptions().size(size).mode(mode);
  };
  const auto by = [](std::vector<double> factors, auto mode) {
    return F::InterpolateFuncOptions().scale_factor(factors).mode(mode).recompute_scale_factor(
        false);
  };
  const auto add = [&](const std::string& name, const std::function<Tensors()>& inputs,
                       const F::InterpolateFuncOptions& options) {
    rows.push_back(unary("interpolate/" + name, inputs, F::interpolate, options));
  };
  add("nearest", plane, by({2, 1.5}, torch::kNearest));
  add("nearest_exact", plane, to({7, 3}, torch::kNearestExact));
  add("area", plane, to({3, 2}, torch::kArea));
  add("linear", line, by({1.7}, torch::kLinear).align_corners(false));
  add("bilinear", plane, to({7, 3}, torch::kBilinear).align_corners(true));
  add("bilinear_recomputed", plane,
      by({1.5, 1.7}, torch::kBilinear).align_corners(false).recompute_scale_factor(true));
  add("bilinear_antialias", plane,
      to({3, 3}, torch::kBilinear).align_corners(false).antialias(true));
  add("bicubic", plane, by({2, 1.5}, torch::kBicubic).align_corners(false));
  add("trilinear", space, to({4, 5, 2}, torch::kTrilinear).align_corners(false));
}

void add_distances(std::vector<Row>& rows) {
  rows.push_back(binary("cosine_similarity", normal({{4, 6, 2}, {4, 6, 2}}), F::cosine_similarity,
                        F::CosineSimilarityFuncOptions().dim(-1).eps(1e-3)));
  rows.push_back(binary("pairwise_distance", normal({{4, 6}, {4, 6}}), F::pairwise_distance,
                        F::PairwiseDistanceFuncOptions().p(3).keepdim(true)));
  rows.push_back(unary("pdist", normal({{5, 4}}), F::pdist, 2));
  rows.push_back(unary("pdist/first", normal({{5, 4}}), F::pdist, 1));
}

void add_regression_losses(std::vector<Row>& rows) {
  const std::function<Tensors()> alike = normal({{4, 6}, {4, 6}}),
                                 probable = uniform({{4, 6}, {4, 6}}),
                                 weighted = uniform({{4, 6}, {4, 6}, {6}});
  rows.push_back(
      binary("l1_loss", alike, F::l1_loss, F::L1LossFuncOptions().reduction(torch::kSum)));
  rows.push_back(
      binary("mse_loss", alike, F::mse_loss, F::MSELossFuncOptions().reduction(torch::kNone)));
  rows.push_back(functional("smooth_l1_loss", alike,
                            [](const Tensors& x) { return F::smooth_l1_loss(x[0], x[1]); }));
  rows.push_back(functional("smooth_l1_loss/beta", alike, [](const Tensors& x) {
    return F::smooth_l1_loss(x[0], x[1], F::SmoothL1LossFuncOptions().reduction(torch::kSum), 0.5);
  }));
  rows.push_back(binary("huber_loss", alike, F::huber_loss,
                        F::HuberLossFuncOptions().reduction(torch::kNone).delta(0.5)));
  rows.push_back(
      binary("kl_div", probable, F::kl_div, F::KLDivFuncOptions().reduction(torch::kBatchMean)));
  rows.push_back(binary("kl_div/log_target", alike, F::kl_div,
                        F::KLDivFuncOptions().reduction(torch::kSum).log_target(true)));
  rows.push_back(binary("poisson_nll_loss", probable, F::poisson_nll_loss,
                        F::PoissonNLLLossFuncOptions().log_input(false).full(true)));
  rows.push_back(functional("binary_cross_entropy", weighted, [](const Tensors& x) {
    return F::binary_cross_entropy(x[0], x[1],
                                   F::BinaryCrossEntropyFuncOptions().weight(x[2].detach()));
  }));
  rows.push_back(functional("binary_cross_entropy_with_logits", weighted, [](const Tensors& x) {
    return F::binary_cross_entropy_with_logits(x[0], x[1],
                                               F::BinaryCrossEntropyWithLogitsFuncOptions()
                                                   .weight(x[2].detach())
                                                   .pos_weight(x[2].detach() * 2)
                                                   .reduction(torch::kSum));
  }));
}

void add_margin_losses(std::vector<Row>& rows) {
  const auto signs = [](std::vector<int64_t> sizes) { return torch::randint(2, sizes) * 2 - 1; };
  const std::function<Tensors()> signed_matrix = [=] {
    return Tensors{torch::randn({4, 6}), signs({4, 6})};
  };
  const std::function<Tensors()> three = normal({{4, 6}, {4, 6}, {4, 6}});
  rows.push_back(binary("hinge_embedding_loss", signed_matrix, F::hinge_embedding_loss,
                        F::HingeEmbeddingLossFuncOptions().margin(0.7)));
  rows.push_back(binary("soft_margin_loss", signed_matrix, F::soft_margin_loss,
                        F::SoftMarginLossFuncOptions().reduction(torch::kSum)));
  rows.push_back(ternary(
      "cosine_embedding_loss",
      [=] {
        return Tensors{torch::randn({4, 6}), torch::randn({4, 6}), signs({4})};
      },
      F::cosine_embedding_loss, F::CosineEmbeddingLossFuncOptions().margin(0.1)));
  rows.push_back(ternary(
      "margin_ranking_loss",
      [=] {
        return Tensors{torch::randn({6}), torch::randn({6}), signs({6})};
      },
      F::margin_ranking_loss, F::MarginRankingLossFuncOptions().margin(0.3)));
  rows.push_back(functional(
      "multi_margin_loss",
      [] {
        return Tensors{torch::randn({4, 6}), torch::randint(6, {4}), torch::rand({6})};
      },
      [](const Tensors& x) {
        return F::multi_margin_loss(
            x[0], x[1], F::MultiMarginLossFuncOptions().p(2).margin(0.8).weight(x[2].detach()));
      }));
  rows.push_back(binary(
      "multilabel_margin_loss",
      [] {
        return Tensors{torch::randn({2, 4}),
                       torch::tensor({3, 0, -1, 1, 2, -1, -1, -1}).view({2, 4})};
      },
      F::multilabel_margin_loss, F::MultilabelMarginLossFuncOptions().reduction(torch::kNone)));
  rows.push_back(functional(
      "multilabel_soft_margin_loss",
      [] {
        return Tensors{torch::randn({4, 6}), torch::randint(2, {4, 6}), torch::rand({6})};
      },
      [](const Tensors& x) {
        return F::multilabel_soft_margin_loss(
            x[0], x[1], F::MultilabelSoftMarginLossFuncOptions().weight(x[2]));
      }));
  rows.push_back(ternary("triplet_margin_loss", three, F::triplet_margin_loss,
                         F::TripletMarginLossFuncOptions().margin(0.8).swap(true)));
  rows.push_back(ternary(
      "triplet_margin_with_distance_loss", three, F::triplet_margin_with_distance_loss,
      F::TripletMarginWithDistanceLossFuncOptions()
          .distance_function([](const Tensor& a, const Tensor& b) { return (a - b).abs().sum(1); })
          .swap(true)
          .reduction(torch::kSum)));
}

void add_class_losses(std::vector<Row>& rows) {
  const std::function<Tensors()> weighted = [] {
    return Tensors{torch::randn({4, 6, 3}).log_softmax(1), torch::randint(6, {4, 3}),
                   torch::rand({6})};
  };
  const std::function<Tensors()> sequences = [] {
    return Tensors{torch::randn({8, 2, 5}).log_softmax(2), torch::randint(1, 5, {2, 3}),
                   torch::tensor({8, 7}), torch::tensor({3, 2})};
  };
  rows.push_back(functional("nll_loss", weighted, [](const Tensors& x) {
    return F::nll_loss(x[0], x[1], F::NLLLossFuncOptions().weight(x[2].detach()).ignore_index(2));
  }));
  rows.push_back(functional("cross_entropy", weighted, [](const Tensors& x) {
    return F::cross_entropy(
        x[0], x[1],
        F::CrossEntropyFuncOptions().weight(x[2].detach()).ignore_index(2).label_smoothing(0.1));
  }));
  rows.push_back(binary("cross_entropy/probabilities", uniform({{4, 6}, {4, 6}}), F::cross_entropy,
                        F::CrossEntropyFuncOptions().reduction(torch::kSum)));
  rows.push_back(chosen_by_cudnn(functional("ctc_loss", sequences, [](const Tensors& x) {
    return F::ctc_loss(x[0], x[1], x[2], x[3]);
  })));
  rows.push_back(
      chosen_by_cudnn(functional("ctc_loss/zero_infinity", sequences, [](const Tensors& x) {
        return F::ctc_loss(x[0], x[1], x[2], x[3],
                           F::CTCLossFuncOptions().zero_infinity(true).reduction(torch::kNone));
      })));
}

}  // namespace

std::vector<Row> functional_rows() {
  std::vector<Row> rows;
  add_linear(rows);
  add_convolutions(rows);
  add_normalisations(rows);
  add_dropouts(rows);
  add_embeddings(rows);
  add_pooling(rows);
  add_adaptive_pooling(rows);
  add_padding(rows);
  add_pointwise(rows);
  add_softmaxes(rows);
  add_attention(rows);
  add_vision(rows);
  add_interpolations(rows);
  add_distances(rows);
  add_regression_losses(rows);
  add_margin_losses(rows);
  add_class_losses(rows);
  return rows;
}

}  // namespace nn_rows
