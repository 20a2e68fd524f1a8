#include "tests/e2e/networks.h"

#include <cmath>

namespace {

namespace F = torch::nn::functional;
using namespace torch::nn;
using torch::Tensor;

constexpr int64_t kExamples = 128;

// Convolution, BatchNorm, pooling and dropout; a class for each image. With ReLU and maxima, or
// with a smooth activation and averages.
template <bool kSmooth>
class ConvolutionalNetwork : public Network {
 public:
  Tensor loss(const Tensor& images, const Tensor& classes) override {
    Tensor x = halved(active(norm1_(conv1_(images))));
    x = halved(active(norm3_(conv3_(x + active(norm2_(conv2_(x)))))));
    x = dropout_(F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions(1)).flatten(1));
    return F::cross_entropy(head_(x), classes);
  }

  // Stripes in one of eight directions, under noise.
  static Data data() {
    constexpr int64_t kClasses = 8, kSize = 16;
    const Tensor classes = torch::randint(kClasses, {kExamples});
    const Tensor angle = (classes * (M_PI / kClasses)).view({-1, 1, 1, 1});
    const Tensor place = torch::arange(kSize, torch::kFloat);
    const Tensor along = place.view({1, 1, 1, -1}) * angle.cos() +
                         place.view({1, 1, -1, 1}) * angle.sin() +
                         torch::rand({kExamples, 3, 1, 1});
    return {along.sin() + 0.5 * torch::randn({kExamples, 3, kSize, kSize}), classes};
  }

 private:
  static Tensor active(const Tensor& x) { return kSmooth ? torch::silu(x) : torch::relu(x); }

  static Tensor halved(const Tensor& x) {
    return kSmooth ? F::avg_pool2d(x, F::AvgPool2dFuncOptions(2))
                   : F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1));
  }

  template <class Holder>
  Holder add(const char* name, Holder layer) {
    return register_module(name, layer);
  }

  Conv2d conv1_ = add("conv1", Conv2d(Conv2dOptions(3, 12, 3).padding(1)));
  BatchNorm2d norm1_ = add("norm1", BatchNorm2d(12));
  Conv2d conv2_ = add("conv2", Conv2d(Conv2dOptions(12, 12, 3).padding(1).groups(4).bias(false)));
  BatchNorm2d norm2_ = add("norm2", BatchNorm2d(12));
  Conv2d conv3_ = add("conv3", Conv2d(Conv2dOptions(12, 24, 3).bias(false)));
  BatchNorm2d norm3_ = add("norm3", BatchNorm2d(24));
  Dropout dropout_ = add("dropout", Dropout(0.1));
  Linear head_ = add("head", Linear(24, 8));
};

// Two layers of an LSTM say what they saw two tokens before.
class LstmNetwork : public Network {
 public:
  static constexpr int64_t kTokens = 10;

  Tensor loss(const Tensor& tokens, const Tensor& targets) override {
    const Tensor states = std::get<0>(lstm_(embedding_(tokens)));
    return F::cross_entropy(head_(states).flatten(0, 1), targets.flatten());
  }

  static Data data() {
    const Tensor tokens = torch::randint(kTokens, {kExamples, 12});
    return {tokens, tokens.roll(2, 1)};
  }

 private:
  Embedding embedding_ = register_module("embedding", Embedding(kTokens, 16));
  LSTM lstm_ = register_module("lstm", LSTM(LSTMOptions(16, 32).num_layers(2).batch_first(true)));
  Linear head_ = register_module("head", Linear(32, kTokens));
};

// LibTorch's own encoder: attention, LayerNorm, GELU and dropout. Each place tells its left
// neighbour's token.
class TransformerNetwork : public Network {
 public:
  static constexpr int64_t kTokens = 10, kPlaces = 16, kWidth = 32;

  Tensor loss(const Tensor& tokens, const Tensor& targets) override {
    const Tensor x = embedding_(tokens) + places_;
    const Tensor states = encoder_(x.transpose(0, 1)).transpose(0, 1);
    return F::cross_entropy(head_(states).flatten(0, 1), targets.flatten());
  }

  static Data data() {
    const Tensor tokens = torch::randint(kTokens, {kExamples, kPlaces});
    return {tokens, tokens.roll(1, 1)};
  }

 private:
  Embedding embedding_ = register_module("embedding", Embedding(kTokens, kWidth));
  Tensor places_ = register_parameter("places", 0.5 * torch::randn({kPlaces, kWidth}));
  TransformerEncoder encoder_ =
      register_module("encoder", TransformerEncoder(TransformerEncoderOptions(
                                     TransformerEncoderLayerOptions(kWidth, /*nhead=*/4)
                                         .dim_feedforward(64)
                                         .dropout(0.1)
                                         .activation(torch::kGELU),
                                     /*num_layers=*/2)));
  Linear head_ = register_module("head", Linear(kWidth, kTokens));
};

// A variational autoencoder that takes the noise out of images.
class Autoencoder : public Network {
 public:
  static constexpr int64_t kSize = 16, kLatent = 8;

  Tensor loss(const Tensor& noisy, const Tensor& images) override {
    const auto moments = encoder_->forward(noisy).chunk(2, 1);
    const Tensor &mean = moments[0], &log_variance = moments[1];
    // Drawn in float32, so that the training in float64 draws the same.
    const Tensor drawn = torch::randn_like(mean, mean.options().dtype(torch::kFloat)).to(mean);
    const Tensor decoded = decoder_->forward(mean + drawn * (0.5 * log_variance).exp());
    const Tensor divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).mean();
    return F::mse_loss(decoded, images) + 1e-3 * divergence;
  }

  // A soft spot somewhere in the image.
  static Data data() {
    const Tensor center = 4 + 8 * torch::rand({kExamples, 2, 1, 1});
    const Tensor place = torch::arange(kSize, torch::kFloat);
    const Tensor distance = (place.view({1, 1, -1}) - center.select(1, 0)).square() +
                            (place.view({1, -1, 1}) - center.select(1, 1)).square();
    const Tensor images = (-distance / 8).exp().unsqueeze(1);
    return {images + 0.2 * torch::randn_like(images), images};
  }

 private:
  Sequential encoder_ = register_module(
      "encoder", Sequential(Conv2d(Conv2dOptions(1, 8, 3).stride(2).padding(1)), SiLU(),
                            Conv2d(Conv2dOptions(8, 16, 3).stride(2).padding(1)), GroupNorm(4, 16),
                            SiLU(), Flatten(), Linear(256, 2 * kLatent)));
  Sequential decoder_ = register_module(
      "decoder",
      Sequential(Linear(kLatent, 256), SiLU(), Unflatten(UnflattenOptions(1, {16, 4, 4})),
                 ConvTranspose2d(ConvTranspose2dOptions(16, 8, 4).stride(2).padding(1)), SiLU(),
                 Upsample(UpsampleOptions()
                              .scale_factor(std::vector<double>{2, 2})
                              .mode(torch::kBilinear)
                              .align_corners(false)),
                 Conv2d(Conv2dOptions(8, 1, 3).padding(1)), Sigmoid()));
};

template <class Optimizer, class Options>
auto optimizer(const Options& options) {
  return [options](std::vector<Tensor> parameters) -> std::unique_ptr<torch::optim::Optimizer> {
    return std::make_unique<Optimizer>(std::move(parameters), options);
  };
}

template <class T>
NetworkRow row(std::string name, decltype(NetworkRow::optimizer) optimizer, bool smooth = true) {
  return {std::move(name), [] { return std::make_shared<T>(); }, T::data, std::move(optimizer),
          smooth};
}

}  // namespace

const std::vector<NetworkRow>& network_rows() {
  using namespace torch::optim;
  static const std::vector<NetworkRow> rows = {
      row<ConvolutionalNetwork<true>>("ConvolutionalNetwork",
                                      optimizer<SGD>(SGDOptions(0.05).momentum(0.9))),
      row<ConvolutionalNetwork<false>>("ConvolutionalNetworkOfMaxima",
                                       optimizer<SGD>(SGDOptions(0.05).momentum(0.9)),
                                       /*smooth=*/false),
      row<LstmNetwork>("Lstm", optimizer<Adam>(AdamOptions(1e-2))),
      row<TransformerNetwork>("Transformer", optimizer<AdamW>(AdamWOptions(2e-3))),
      row<Autoencoder>("Autoencoder", optimizer<Adam>(AdamOptions(2e-3))),
  };
  return rows;
}
