// Every module of torch::nn.
#include "tests/nn/row.h"

namespace nn_rows {
namespace {

void add_linear(std::vector<Row>& rows) {
  rows.push_back(module(
      "Identity", [] { return nn::Identity(); }, normal({{2, 4}})));
  rows.push_back(module(
      "Linear", [] { return nn::Linear(4, 3); }, normal({{2, 5, 4}})));
  rows.push_back(module(
      "Linear/no_bias", [] { return nn::Linear(nn::LinearOptions(4, 3).bias(false)); },
      normal({{2, 4}})));
  rows.push_back(module(
      "Bilinear", [] { return nn::Bilinear(4, 3, 5); }, normal({{6, 4}, {6, 3}}), on_two));
  rows.push_back(module(
      "Flatten", [] { return nn::Flatten(); }, normal({{2, 3, 4}})));
  rows.push_back(module(
      "Unflatten",
      [] {
        return nn::Unflatten(nn::UnflattenOptions(1, {2, 3}));
      },
      normal({{4, 6}})));
  rows.push_back(module(
      "Functional", [] { return nn::Functional([](const Tensor& x) { return x.tanh() * 2; }); },
      normal({{3, 4}})));
}

void add_convolutions(std::vector<Row>& rows) {
  rows.push_back(module(
      "Conv1d", [] { return nn::Conv1d(3, 4, 3); }, normal({{2, 3, 9}})));
  rows.push_back(module(
      "Conv2d", [] { return nn::Conv2d(3, 4, 3); }, normal({{2, 3, 9, 8}})));
  rows.push_back(module(
      "Conv2d/grouped",
      [] {
        return nn::Conv2d(nn::Conv2dOptions(4, 6, 3).groups(2).stride(2).padding(1).dilation(2));
      },
      normal({{2, 4, 9, 9}})));
  rows.push_back(module(
      "Conv2d/reflect",
      [] {
        return nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1).padding_mode(torch::kReflect));
      },
      normal({{2, 3, 6, 6}})));
  rows.push_back(module(
      "Conv2d/same", [] { return nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(torch::kSame)); },
      normal({{2, 3, 6, 6}})));
  rows.push_back(module(
      "Conv3d", [] { return nn::Conv3d(2, 3, 3); }, normal({{1, 2, 5, 6, 5}})));
  rows.push_back(module(
      "ConvTranspose1d", [] { return nn::ConvTranspose1d(3, 4, 3); }, normal({{2, 3, 7}})));
  rows.push_back(module(
      "ConvTranspose2d",
      [] {
        return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 4, 3).stride(2).output_padding(1));
      },
      normal({{2, 3, 5, 5}})));
  rows.push_back(module(
      "ConvTranspose3d", [] { return nn::ConvTranspose3d(2, 3, 3); }, normal({{1, 2, 4, 4, 4}})));
}

void add_normalisations(std::vector<Row>& rows) {
  rows.push_back(module(
      "BatchNorm1d", [] { return nn::BatchNorm1d(4); }, normal({{8, 4}})));
  rows.push_back(module(
      "BatchNorm2d", [] { return nn::BatchNorm2d(4); }, normal({{3, 4, 5, 5}})));
  rows.push_back(module(
      "BatchNorm2d/without_statistics",
      [] {
        return nn::BatchNorm2d(nn::BatchNorm2dOptions(4).track_running_stats(false).affine(false));
      },
      normal({{3, 4, 5, 5}})));
  rows.push_back(module(
      "BatchNorm2d/cumulative",
      [] { return nn::BatchNorm2d(nn::BatchNorm2dOptions(4).momentum(std::nullopt)); },
      normal({{3, 4, 5, 5}})));
  rows.back().reads_new_values = true;
  rows.push_back(module(
      "BatchNorm3d", [] { return nn::BatchNorm3d(3); }, normal({{2, 3, 3, 4, 4}})));
  rows.push_back(module(
      "InstanceNorm1d", [] { return nn::InstanceNorm1d(4); }, normal({{3, 4, 6}})));
  rows.push_back(module(
      "InstanceNorm2d",
      [] {
        return nn::InstanceNorm2d(
            nn::InstanceNorm2dOptions(4).affine(true).track_running_stats(true));
      },
      normal({{3, 4, 5, 5}})));
  rows.push_back(module(
      "InstanceNorm3d", [] { return nn::InstanceNorm3d(3); }, normal({{2, 3, 3, 4, 4}})));
  rows.push_back(module(
      "LayerNorm",
      [] {
        return nn::LayerNorm(nn::LayerNormOptions({4, 5}));
      },
      normal({{3, 4, 5}})));
  rows.push_back(module(
      "GroupNorm", [] { return nn::GroupNorm(2, 6); }, normal({{3, 6, 4, 4}})));
  rows.push_back(module(
      "LocalResponseNorm", [] { return nn::LocalResponseNorm(3); }, normal({{2, 6, 4, 4}})));
  rows.push_back(module(
      "CrossMapLRN2d", [] { return nn::CrossMapLRN2d(3); }, normal({{2, 6, 4, 4}})));
}

void add_dropouts(std::vector<Row>& rows) {
  rows.push_back(module(
      "Dropout", [] { return nn::Dropout(0.3); }, normal({{8, 9}})));
  rows.push_back(module(
      "Dropout/in_place", [] { return nn::Dropout(nn::DropoutOptions(0.3).inplace(true)); },
      normal({{8, 9}}), [](auto& m, const Tensors& x) { return m(x[0] * 2); }));
  rows.push_back(module(
      "Dropout2d", [] { return nn::Dropout2d(0.3); }, normal({{4, 6, 3, 3}})));
  rows.push_back(module(
      "Dropout3d", [] { return nn::Dropout3d(0.3); }, normal({{4, 6, 2, 3, 3}})));
  rows.push_back(module(
      "AlphaDropout", [] { return nn::AlphaDropout(0.3); }, normal({{8, 9}})));
  rows.push_back(module(
      "FeatureAlphaDropout", [] { return nn::FeatureAlphaDropout(0.3); }, normal({{4, 6, 3, 3}})));
}

void add_embeddings(std::vector<Row>& rows) {
  const auto ids = [](std::vector<int64_t> sizes) {
    return [=] { return Tensors{torch::randint(7, sizes)}; };
  };
  rows.push_back(module(
      "Embedding", [] { return nn::Embedding(7, 5); }, ids({3, 4})));
  rows.push_back(module(
      "Embedding/padding", [] { return nn::Embedding(nn::EmbeddingOptions(7, 5).padding_idx(2)); },
      ids({3, 4})));
  rows.push_back(module(
      "EmbeddingBag", [] { return nn::EmbeddingBag(7, 5); }, ids({3, 4})));
  rows.push_back(module(
      "EmbeddingBag/sum",
      [] { return nn::EmbeddingBag(nn::EmbeddingBagOptions(7, 5).mode(torch::kSum)); },
      ids({3, 4})));
  rows.push_back(module(
      "EmbeddingBag/max",
      [] { return nn::EmbeddingBag(nn::EmbeddingBagOptions(7, 5).mode(torch::kMax)); },
      ids({3, 4})));
}

void add_pooling(std::vector<Row>& rows) {
  rows.push_back(module(
      "Fold",
      [] {
        return nn::Fold(nn::FoldOptions({4, 5}, {2, 2}));
      },
      normal({{2, 12, 12}})));
  rows.push_back(module(
      "Unfold",
      [] {
        return nn::Unfold(nn::UnfoldOptions({2, 2}).padding(1));
      },
      normal({{2, 3, 4, 5}})));
  rows.push_back(module(
      "AvgPool1d", [] { return nn::AvgPool1d(2); }, normal({{2, 3, 8}})));
  rows.push_back(module(
      "AvgPool2d",
      [] {
        return nn::AvgPool2d(
            nn::AvgPool2dOptions(3).stride(2).padding(1).count_include_pad(false).ceil_mode(true));
      },
      normal({{2, 3, 8, 8}})));
  rows.push_back(module(
      "AvgPool3d", [] { return nn::AvgPool3d(2); }, normal({{2, 3, 4, 4, 4}})));
  rows.push_back(module(
      "MaxPool1d", [] { return nn::MaxPool1d(2); }, normal({{2, 3, 8}})));
  rows.push_back(module(
      "MaxPool2d", [] { return nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)); },
      normal({{2, 3, 8, 8}})));
  rows.push_back(module(
      "MaxPool3d", [] { return nn::MaxPool3d(2); }, normal({{2, 3, 4, 4, 4}})));
  rows.push_back(module(
      "AdaptiveAvgPool1d", [] { return nn::AdaptiveAvgPool1d(3); }, normal({{2, 3, 8}})));
  rows.push_back(module(
      "AdaptiveAvgPool2d", [] { return nn::AdaptiveAvgPool2d(3); }, normal({{2, 3, 8, 7}})));
  rows.push_back(module(
      "AdaptiveAvgPool3d", [] { return nn::AdaptiveAvgPool3d(2); }, normal({{2, 3, 5, 4, 4}})));
  rows.push_back(module(
      "AdaptiveMaxPool1d", [] { return nn::AdaptiveMaxPool1d(3); }, normal({{2, 3, 8}})));
  rows.push_back(module(
      "AdaptiveMaxPool2d", [] { return nn::AdaptiveMaxPool2d(3); }, normal({{2, 3, 8, 7}})));
  rows.push_back(module(
      "AdaptiveMaxPool3d", [] { return nn::AdaptiveMaxPool3d(2); }, normal({{2, 3, 5, 4, 4}})));
  rows.push_back(module(
      "FractionalMaxPool2d",
      [] { return nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_size(3)); },
      normal({{2, 3, 8, 8}})));
  rows.push_back(module(
      "FractionalMaxPool3d",
      [] { return nn::FractionalMaxPool3d(nn::FractionalMaxPool3dOptions(2).output_size(2)); },
      normal({{2, 3, 5, 5, 5}})));
  rows.push_back(module(
      "LPPool1d", [] { return nn::LPPool1d(2, 2); }, uniform({{2, 3, 8}})));
  rows.push_back(module(
      "LPPool2d", [] { return nn::LPPool2d(2, 2); }, uniform({{2, 3, 8, 8}})));
  rows.push_back(module(
      "LPPool3d", [] { return nn::LPPool3d(2, 2); }, uniform({{2, 3, 4, 4, 4}})));
  // What was pooled, and from where.
  rows.push_back(module(
      "MaxUnpool1d", [] { return nn::MaxUnpool1d(2); },
      [] {
        return flat(torch::max_pool1d_with_indices(torch::randn({2, 3, 8}), 2));
      },
      on_two));
  rows.push_back(module(
      "MaxUnpool2d", [] { return nn::MaxUnpool2d(2); },
      [] {
        return flat(torch::max_pool2d_with_indices(torch::randn({2, 3, 4, 4}), 2));
      },
      on_two));
  rows.push_back(module(
      "MaxUnpool3d", [] { return nn::MaxUnpool3d(2); },
      [] {
        return flat(torch::max_pool3d_with_indices(torch::randn({2, 3, 4, 4, 4}), 2));
      },
      on_two));
}

void add_padding(std::vector<Row>& rows) {
  const std::function<Tensors()> line = normal({{2, 3, 5}}), plane = normal({{2, 3, 5, 4}}),
                                 space = normal({{2, 3, 4, 4, 3}});
  rows.push_back(module(
      "ReflectionPad1d", [] { return nn::ReflectionPad1d(2); }, line));
  rows.push_back(module(
      "ReflectionPad2d", [] { return nn::ReflectionPad2d(2); }, plane));
  rows.push_back(module(
      "ReflectionPad3d", [] { return nn::ReflectionPad3d(1); }, space));
  rows.push_back(module(
      "ReplicationPad1d", [] { return nn::ReplicationPad1d(2); }, line));
  rows.push_back(module(
      "ReplicationPad2d", [] { return nn::ReplicationPad2d(2); }, plane));
  rows.push_back(module(
      "ReplicationPad3d", [] { return nn::ReplicationPad3d(1); }, space));
  rows.push_back(module(
      "ZeroPad1d", [] { return nn::ZeroPad1d(2); }, line));
  rows.push_back(module(
      "ZeroPad2d",
      [] {
        return nn::ZeroPad2d(nn::ZeroPad2dOptions({1, 0, 2, -1}));
      },
      plane));
  rows.push_back(module(
      "ZeroPad3d", [] { return nn::ZeroPad3d(1); }, space));
  rows.push_back(module(
      "ConstantPad1d", [] { return nn::ConstantPad1d(2, 0.5); }, line));
  rows.push_back(module(
      "ConstantPad2d", [] { return nn::ConstantPad2d(2, 0.5); }, plane));
  rows.push_back(module(
      "ConstantPad3d", [] { return nn::ConstantPad3d(1, 0.5); }, space));
}

template <class Holder, class... Arguments>
Row pointwise(std::string name, Arguments... arguments) {
  return module(
      std::move(name), [=] { return Holder(arguments...); }, normal({{5, 8}}));
}

void add_activations(std::vector<Row>& rows) {
  rows.push_back(pointwise<nn::ELU>("ELU"));
  rows.push_back(pointwise<nn::SELU>("SELU"));
  rows.push_back(pointwise<nn::CELU>("CELU"));
  rows.push_back(pointwise<nn::GELU>("GELU"));
  rows.push_back(pointwise<nn::GELU>("GELU/tanh", nn::GELUOptions().approximate("tanh")));
  rows.push_back(pointwise<nn::GLU>("GLU"));
  rows.push_back(pointwise<nn::Hardshrink>("Hardshrink"));
  rows.push_back(pointwise<nn::Hardtanh>("Hardtanh"));
  rows.push_back(pointwise<nn::LeakyReLU>("LeakyReLU"));
  rows.push_back(pointwise<nn::LogSigmoid>("LogSigmoid"));
  rows.push_back(pointwise<nn::Mish>("Mish"));
  rows.push_back(pointwise<nn::PReLU>("PReLU"));
  rows.push_back(pointwise<nn::ReLU>("ReLU"));
  rows.push_back(module(
      "ReLU/in_place", [] { return nn::ReLU(nn::ReLUOptions(true)); }, normal({{5, 8}}),
      [](auto& m, const Tensors& x) { return m(x[0] + 1); }));
  rows.push_back(pointwise<nn::ReLU6>("ReLU6"));
  rows.push_back(pointwise<nn::RReLU>("RReLU"));
  rows.push_back(pointwise<nn::SiLU>("SiLU"));
  rows.push_back(pointwise<nn::Sigmoid>("Sigmoid"));
  rows.push_back(pointwise<nn::Softplus>("Softplus"));
  rows.push_back(pointwise<nn::Softshrink>("Softshrink"));
  rows.push_back(pointwise<nn::Softsign>("Softsign"));
  rows.push_back(pointwise<nn::Tanh>("Tanh"));
  rows.push_back(pointwise<nn::Tanhshrink>("Tanhshrink"));
  rows.push_back(pointwise<nn::Threshold>("Threshold", nn::ThresholdOptions(0.1, 0.7)));
  rows.push_back(pointwise<nn::Softmax>("Softmax", nn::SoftmaxOptions(1)));
  rows.push_back(pointwise<nn::Softmin>("Softmin", nn::SoftminOptions(1)));
  rows.push_back(pointwise<nn::LogSoftmax>("LogSoftmax", nn::LogSoftmaxOptions(1)));
  rows.push_back(module(
      "Softmax2d", [] { return nn::Softmax2d(); }, normal({{2, 3, 4, 4}})));
  rows.push_back(module(
      "MultiheadAttention", [] { return nn::MultiheadAttention(8, 2); },
      normal({{5, 2, 8}, {6, 2, 8}, {6, 2, 8}}), on_three));
}

void add_recurrences(std::vector<Row>& rows) {
  rows.push_back(module(
      "RNN", [] { return nn::RNN(3, 4); }, normal({{5, 2, 3}})));
  rows.push_back(module(
      "RNN/relu", [] { return nn::RNN(nn::RNNOptions(3, 4).nonlinearity(torch::kReLU)); },
      normal({{5, 2, 3}})));
  rows.push_back(drawn_by_cudnn(module(
      "LSTM",
      [] {
        return nn::LSTM(
            nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).batch_first(true).dropout(0.3));
      },
      normal({{2, 5, 3}}))));
  rows.push_back(module(
      "LSTM/projection", [] { return nn::LSTM(nn::LSTMOptions(3, 4).proj_size(2)); },
      normal({{5, 2, 3}})));
  rows.push_back(module(
      "GRU", [] { return nn::GRU(nn::GRUOptions(3, 4).bidirectional(true)); },
      normal({{5, 2, 3}})));
  rows.push_back(module(
      "RNNCell", [] { return nn::RNNCell(3, 4); }, normal({{2, 3}})));
  rows.push_back(module(
      "LSTMCell", [] { return nn::LSTMCell(3, 4); }, normal({{2, 3}})));
  rows.push_back(module(
      "GRUCell", [] { return nn::GRUCell(3, 4); }, normal({{2, 3}, {2, 4}}), on_two));
}

void add_vision(std::vector<Row>& rows) {
  rows.push_back(module(
      "PixelShuffle", [] { return nn::PixelShuffle(2); }, normal({{2, 8, 3, 3}})));
  rows.push_back(module(
      "PixelUnshuffle", [] { return nn::PixelUnshuffle(2); }, normal({{2, 3, 4, 6}})));
  const auto upsample = [](std::string name, auto mode, std::vector<int64_t> sizes) {
    const auto align_corners = name == "nearest" ? std::optional<bool>() : false;
    return module(
        "Upsample/" + name,
        [=] {
          return nn::Upsample(nn::UpsampleOptions()
                                  .align_corners(align_corners)
                                  .scale_factor(std::vector<double>(sizes.size() - 2, 2.0))
                                  .mode(mode));
        },
        normal({sizes}));
  };
  rows.push_back(upsample("nearest", torch::kNearest, {2, 3, 4, 4}));
  rows.push_back(upsample("linear", torch::kLinear, {2, 3, 4}));
  rows.push_back(upsample("bilinear", torch::kBilinear, {2, 3, 4, 4}));
  rows.push_back(upsample("bicubic", torch::kBicubic, {2, 3, 4, 4}));
  rows.push_back(upsample("trilinear", torch::kTrilinear, {1, 2, 3, 3, 3}));
}

void add_distances(std::vector<Row>& rows) {
  rows.push_back(module(
      "CosineSimilarity", [] { return nn::CosineSimilarity(); }, normal({{4, 6}, {4, 6}}), on_two));
  rows.push_back(module(
      "PairwiseDistance", [] { return nn::PairwiseDistance(); }, normal({{4, 6}, {4, 6}}), on_two));
}

void add_losses(std::vector<Row>& rows) {
  const std::function<Tensors()> alike = normal({{4, 6}, {4, 6}});
  const std::function<Tensors()> signs = [] {
    return Tensors{torch::randn({4, 6}), torch::randint(2, {4, 6}) * 2.0 - 1.0};
  };
  rows.push_back(module(
      "L1Loss", [] { return nn::L1Loss(); }, alike, on_two));
  rows.push_back(module(
      "MSELoss", [] { return nn::MSELoss(); }, alike, on_two));
  rows.push_back(module(
      "SmoothL1Loss", [] { return nn::SmoothL1Loss(); }, alike, on_two));
  rows.push_back(module(
      "HuberLoss", [] { return nn::HuberLoss(); }, alike, on_two));
  rows.push_back(module(
      "KLDivLoss",
      [] { return nn::KLDivLoss(nn::KLDivLossOptions().reduction(torch::kBatchMean)); },
      uniform({{4, 6}, {4, 6}}), on_two));
  rows.push_back(module(
      "BCELoss", [] { return nn::BCELoss(); }, uniform({{4, 6}, {4, 6}}), on_two));
  rows.push_back(module(
      "BCEWithLogitsLoss", [] { return nn::BCEWithLogitsLoss(); }, uniform({{4, 6}, {4, 6}}),
      on_two));
  rows.push_back(module(
      "HingeEmbeddingLoss", [] { return nn::HingeEmbeddingLoss(); }, signs, on_two));
  rows.push_back(module(
      "SoftMarginLoss", [] { return nn::SoftMarginLoss(); }, signs,
      [](auto& m, const Tensors& x) { return m(x[0], x[1].detach()); }));
  rows.push_back(module(
      "MultiMarginLoss", [] { return nn::MultiMarginLoss(); }, normal_and_classes({4, 6}, 6, {4}),
      on_two));
  rows.push_back(module(
      "MultiLabelMarginLoss", [] { return nn::MultiLabelMarginLoss(); },
      [] {
        return Tensors{torch::randn({2, 4}),
                       torch::tensor({3, 0, -1, 1, 2, -1, -1, -1}).view({2, 4})};
      },
      on_two));
  rows.push_back(module(
      "MultiLabelSoftMarginLoss", [] { return nn::MultiLabelSoftMarginLoss(); },
      [] {
        return Tensors{torch::randn({4, 6}), torch::rand({4, 6}).round()};
      },
      on_two));
  rows.push_back(module(
      "CosineEmbeddingLoss", [] { return nn::CosineEmbeddingLoss(); },
      [] {
        return Tensors{torch::randn({4, 6}), torch::randn({4, 6}),
                       torch::randint(2, {4}) * 2.0 - 1.0};
      },
      on_three));
  rows.push_back(module(
      "MarginRankingLoss", [] { return nn::MarginRankingLoss(); },
      [] {
        return Tensors{torch::randn({6}), torch::randn({6}), torch::randint(2, {6}) * 2.0 - 1.0};
      },
      on_three));
  rows.push_back(module(
      "TripletMarginLoss", [] { return nn::TripletMarginLoss(); }, normal({{4, 6}, {4, 6}, {4, 6}}),
      on_three));
  rows.push_back(module(
      "TripletMarginWithDistanceLoss", [] { return nn::TripletMarginWithDistanceLoss(); },
      normal({{4, 6}, {4, 6}, {4, 6}}), on_three));
  rows.push_back(chosen_by_cudnn(module(
      "CTCLoss", [] { return nn::CTCLoss(); },
      [] {
        return Tensors{torch::randn({8, 2, 5}).log_softmax(2), torch::randint(1, 5, {2, 3}),
                       torch::tensor({8, 7}), torch::tensor({3, 2})};
      },
      [](auto& m, const Tensors& x) { return m(x[0], x[1], x[2], x[3]); })));
  rows.push_back(module(
      "PoissonNLLLoss", [] { return nn::PoissonNLLLoss(); }, uniform({{4, 6}, {4, 6}}), on_two));
  rows.push_back(module(
      "NLLLoss", [] { return nn::NLLLoss(); }, normal_and_classes({4, 6}, 6, {4}), on_two));
  rows.push_back(module(
      "CrossEntropyLoss", [] { return nn::CrossEntropyLoss(); }, normal_and_classes({4, 6}, 6, {4}),
      on_two));
  rows.push_back(module(
      "CrossEntropyLoss/smooth",
      [] {
        return nn::CrossEntropyLoss(
            nn::CrossEntropyLossOptions().label_smoothing(0.1).ignore_index(2));
      },
      normal_and_classes({4, 6, 3}, 6, {4, 3}), on_two));
  rows.push_back(module(
      "AdaptiveLogSoftmaxWithLoss",
      [] {
        return nn::AdaptiveLogSoftmaxWithLoss(
            nn::AdaptiveLogSoftmaxWithLossOptions(16, 12, {4, 8}).div_value(2));
      },
      normal_and_classes({6, 16}, 12, {6}), on_two));
  rows.back().reads_new_values = true;
}

void add_transformers(std::vector<Row>& rows) {
  const std::function<Tensors()> one = normal({{5, 2, 8}}), two = normal({{5, 2, 8}, {6, 2, 8}});
  rows.push_back(module(
      "TransformerEncoderLayer",
      [] {
        return nn::TransformerEncoderLayer(
            nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16));
      },
      one));
  rows.push_back(module(
      "TransformerDecoderLayer",
      [] {
        return nn::TransformerDecoderLayer(
            nn::TransformerDecoderLayerOptions(8, 2).dim_feedforward(16));
      },
      two, on_two));
  rows.push_back(module(
      "TransformerEncoder",
      [] {
        return nn::TransformerEncoder(nn::TransformerEncoderOptions(
            nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16), 2));
      },
      one));
  rows.push_back(module(
      "TransformerDecoder",
      [] {
        return nn::TransformerDecoder(nn::TransformerDecoderOptions(
            nn::TransformerDecoderLayerOptions(8, 2).dim_feedforward(16), 2));
      },
      two, on_two));
  rows.push_back(module(
      "Transformer",
      [] {
        return nn::Transformer(nn::TransformerOptions(8, 2)
                                   .num_encoder_layers(1)
                                   .num_decoder_layers(1)
                                   .dim_feedforward(16));
      },
      two, on_two));
}

// What holds others and has no forward of its own but in a Sequential.
void add_containers(std::vector<Row>& rows) {
  rows.push_back(module(
      "Sequential",
      [] {
        return nn::Sequential(nn::Linear(4, 6), nn::BatchNorm1d(6), nn::ReLU(), nn::Linear(6, 2));
      },
      normal({{5, 4}}), [](auto& m, const Tensors& x) { return m->forward(x[0]); }));
  rows.push_back(module(
      "ModuleList", [] { return nn::ModuleList(nn::Linear(4, 4), nn::Linear(4, 4)); },
      normal({{5, 4}}),
      [](auto& m, const Tensors& x) {
        Tensor y = x[0];
        for (const auto& part : *m) y = part->template as<nn::Linear>()->forward(y);
        return y;
      }));
  rows.push_back(module(
      "ModuleDict",
      [] {
        using Part = std::pair<std::string, std::shared_ptr<nn::Module>>;
        return nn::ModuleDict(
            std::vector<Part>{{"up", nn::Linear(4, 6).ptr()}, {"down", nn::Linear(6, 4).ptr()}});
      },
      normal({{5, 4}}),
      [](auto& m, const Tensors& x) {
        const Tensor up = m["up"]->template as<nn::Linear>()->forward(x[0]);
        return m["down"]->template as<nn::Linear>()->forward(up);
      }));
  rows.push_back(module(
      "ParameterList",
      [] {
        return nn::ParameterList(torch::randn({4}), torch::randn({5, 4}));
      },
      normal({{5, 4}}), [](auto& m, const Tensors& x) { return x[0] * m[0] + m[1]; }));
  rows.push_back(module(
      "ParameterDict",
      [] {
        nn::ParameterDict dict;
        dict->insert("scale", torch::randn({4}));
        return dict;
      },
      normal({{5, 4}}), [](auto& m, const Tensors& x) { return x[0] * m["scale"]; }));
}

}  // namespace

std::vector<Row> module_rows() {
  std::vector<Row> rows;
  add_linear(rows);
  add_convolutions(rows);
  add_normalisations(rows);
  add_dropouts(rows);
  add_embeddings(rows);
  add_pooling(rows);
  add_padding(rows);
  add_activations(rows);
  add_recurrences(rows);
  add_vision(rows);
  add_distances(rows);
  add_losses(rows);
  add_transformers(rows);
  add_containers(rows);
  return rows;
}

}  // namespace nn_rows
