// Do models as people write them train faster compiled than in eager? ResNet-18 on 64x64 images, an
// LSTM tagger, a ViT and a U-Net, batch 8, float32, SGD. Budget: none slower than eager, a first
// step within 5 s with a cold cache (set TORCHDYN_CACHE_DIR to an empty folder), no more
// copies from one layout to another.
//   bench_cpp_models [ROUNDS] [DEVICE]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/record_function.h>
#include <torch/torch.h>

#include "bench/gpt/device.h"
#include "torchdyn/compile.h"

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

constexpr int64_t kBatch = 8;

// ---- Models ----

struct Model : nn::Module {
  virtual Tensor loss(const Tensor& inputs, const Tensor& targets) = 0;
};

nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
      : first(register_module("first", convolution(in, out, 3, stride))),
        second(register_module("second", convolution(out, out, 3))),
        first_norm(register_module("first_norm", nn::BatchNorm2d(out))),
        second_norm(register_module("second_norm", nn::BatchNorm2d(out))) {
    if (in != out || stride != 1)
      shortcut = register_module(
          "shortcut", nn::Sequential(convolution(in, out, 1, stride), nn::BatchNorm2d(out)));
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = second_norm(second(first_norm(first(x)).relu()));
    return (y + (shortcut ? shortcut->forward(x) : x)).relu();
  }
  nn::Conv2d first, second;
  nn::BatchNorm2d first_norm, second_norm;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(BasicBlock);

struct ResNet18 : Model {
  ResNet18()
      : stem(register_module(
            "stem", nn::Sequential(convolution(3, 64, 7, 2), nn::BatchNorm2d(64), nn::ReLU(),
                                   nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1))))),
        blocks(register_module("blocks", nn::Sequential())),
        head(register_module("head", nn::Linear(512, 10))) {
    int64_t in = 64;
    for (int64_t out : {64, 128, 256, 512})
      for (int k = 0; k < 2; ++k, in = out)
        blocks->push_back(BasicBlock(in, out, k == 0 && out > 64 ? 2 : 1));
  }
  Tensor loss(const Tensor& images, const Tensor& classes) override {
    const Tensor features = blocks->forward(stem->forward(images)).mean({2, 3});
    return F::cross_entropy(head(features), classes);
  }
  nn::Sequential stem, blocks;
  nn::Linear head;
};

struct Tagger : Model {
  Tagger()
      : words(register_module("words", nn::Embedding(1000, 64))),
        lstm(register_module(
            "lstm", nn::LSTM(nn::LSTMOptions(64, 64).bidirectional(true).batch_first(true)))),
        head(register_module("head", nn::Linear(128, 12))) {}
  Tensor loss(const Tensor& text, const Tensor& tags) override {
    const Tensor states = std::get<0>(lstm(words(text)));
    return F::cross_entropy(head(states).flatten(0, 1), tags.flatten());
  }
  nn::Embedding words;
  nn::LSTM lstm;
  nn::Linear head;
};

struct LayerImpl : nn::Module {
  explicit LayerImpl(int64_t width)
      : before(register_module("before", nn::LayerNorm(nn::LayerNormOptions({width})))),
        between(register_module("between", nn::LayerNorm(nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        out(register_module("out", nn::Linear(width, width))),
        up(register_module("up", nn::Linear(width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))) {}
  Tensor forward(const Tensor& x) {
    constexpr int64_t kHeads = 4;
    const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const Tensor heads =
        qkv(before(x)).view({batch, length, 3, kHeads, width / kHeads}).permute({2, 0, 3, 1, 4});
    const Tensor attended = at::scaled_dot_product_attention(heads[0], heads[1], heads[2]);
    const Tensor y = x + out(attended.transpose(1, 2).reshape({batch, length, width}));
    return y + down(F::gelu(up(between(y))));
  }
  nn::LayerNorm before, between;
  nn::Linear qkv, out, up, down;
};
TORCH_MODULE(Layer);

struct ViT : Model {
  ViT()
      : patches(register_module("patches", nn::Conv2d(nn::Conv2dOptions(3, 128, 8).stride(8)))),
        layers(register_module("layers", nn::Sequential(Layer(128), Layer(128), Layer(128)))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({128})))),
        head(register_module("head", nn::Linear(128, 10))),
        places(register_parameter("places", 0.02 * torch::randn({1, 65, 128}))),
        first(register_parameter("first", torch::zeros({1, 1, 128}))) {}
  Tensor loss(const Tensor& images, const Tensor& classes) override {
    const Tensor tokens = patches(images).flatten(2).transpose(1, 2);
    const Tensor x = torch::cat({first.expand({images.size(0), 1, 128}), tokens}, 1) + places;
    return F::cross_entropy(head(norm(layers->forward(x)).select(1, 0)), classes);
  }
  nn::Conv2d patches;
  nn::Sequential layers;
  nn::LayerNorm norm;
  nn::Linear head;
  Tensor places, first;
};

struct UNet : Model {
  static nn::Sequential stage(int64_t in, int64_t out) {
    return nn::Sequential(convolution(in, out, 3), nn::GroupNorm(8, out), nn::SiLU(),
                          convolution(out, out, 3), nn::GroupNorm(8, out), nn::SiLU());
  }
  UNet()
      : down(register_module("down", stage(3, 32))),
        bottom(register_module("bottom", stage(32, 64))),
        up(register_module("up", stage(96, 32))),
        head(register_module("head", convolution(32, 3, 1))) {}
  Tensor loss(const Tensor& images, const Tensor& targets) override {
    const Tensor fine = down->forward(images);
    const Tensor coarse = bottom->forward(F::avg_pool2d(fine, F::AvgPool2dFuncOptions(2)));
    const Tensor wide = F::interpolate(
        coarse,
        F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kNearest));
    return F::mse_loss(head(up->forward(torch::cat({wide, fine}, 1))), targets);
  }
  nn::Sequential down, bottom, up;
  nn::Conv2d head;
};

// ---- Training ----

struct Row {
  const char* name;
  std::function<std::shared_ptr<Model>()> build;
  std::function<Tensor()> inputs, targets;
};

std::vector<Row> rows() {
  const auto images = [] { return torch::randn({kBatch, 3, 64, 64}); };
  const auto classes = [] { return torch::randint(10, {kBatch}); };
  return {
      {"ResNet-18", [] { return std::make_shared<ResNet18>(); }, images, classes},
      {"LSTM tagger", [] { return std::make_shared<Tagger>(); },
       [] {
         return torch::randint(1000, {kBatch, 32});
       },
       [] {
         return torch::randint(12, {kBatch, 32});
       }},
      {"ViT", [] { return std::make_shared<ViT>(); }, images, classes},
      {"U-Net", [] { return std::make_shared<UNet>(); }, images, images},
  };
}

using Loss = std::function<Tensor(const Tensor&, const Tensor&)>;

class Trainer {
 public:
  Trainer(std::shared_ptr<Model> model, Loss loss, at::Device device)
      : model_(std::move(model)),
        loss_(std::move(loss)),
        device_(device),
        optimizer_(model_->parameters(), torch::optim::SGDOptions(0.01)) {}

  // Seconds of a step; its loss is kept.
  double step(const Tensor& inputs, const Tensor& targets) {
    const auto start = std::chrono::steady_clock::now();
    optimizer_.zero_grad();
    const Tensor loss = loss_(inputs, targets);
    loss.backward();
    optimizer_.step();
    last_loss = loss.item<double>();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double last_loss = 0;

 private:
  std::shared_ptr<Model> model_;
  Loss loss_;
  at::Device device_;
  torch::optim::SGD optimizer_;
};

// ATen's copies from one layout to another while it lives, those inside of operators included.
class LayoutCopies {
 public:
  LayoutCopies()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(&LayoutCopies::see)
                                          .needsInputs(true)
                                          .scopes({at::RecordScope::FUNCTION}))) {
    count_ = 0;
  }
  ~LayoutCopies() { at::removeCallback(handle_); }
  LayoutCopies(const LayoutCopies&) = delete;
  LayoutCopies& operator=(const LayoutCopies&) = delete;

  int count() const { return count_; }

 private:
  static std::unique_ptr<at::ObserverContext> see(const at::RecordFunction& call) {
    const auto inputs = call.inputs();
    if (std::string_view(call.name()) != "aten::copy_" || inputs.size() < 2) return nullptr;
    const Tensor &to = inputs[0].toTensor(), &from = inputs[1].toTensor();
    if (to.sizes() == from.sizes() && to.dtype() == from.dtype() && to.strides() != from.strides())
      ++count_;
    return nullptr;
  }
  static inline std::atomic<int> count_;
  at::CallbackHandle handle_;
};

// Launches a step of kernels that do nothing but copy.
int copying_kernels(const torchdyn::Explanation& explanation) {
  const std::vector<std::string> copies = {"aten::clone", "aten::contiguous", "aten::copy_",
                                           "aten::reshape"};
  int launches = 0;
  for (const auto& graph : explanation.variants.at(0).graphs)
    for (const auto& kernel : graph.kernels)
      if (std::all_of(kernel.origins.begin(), kernel.origins.end(), [&](const std::string& op) {
            return std::find(copies.begin(), copies.end(), op) != copies.end();
          }))
        launches += kernel.launches;
  return launches;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void measure(const Row& row, int rounds, at::Device device) {
  const auto built = [&] {
    torch::manual_seed(0);
    auto model = row.build();
    model->to(device);
    return model;
  };
  torch::manual_seed(1);
  const Tensor inputs = row.inputs().to(device), targets = row.targets().to(device);
  const auto eager_model = built(), compiled_model = built();
  auto compiled = torchdyn::compile([](const std::shared_ptr<Model>& m, const Tensor& x,
                                       const Tensor& y) { return m->loss(x, y); });
  Trainer eager(
      eager_model, [&](const Tensor& x, const Tensor& y) { return eager_model->loss(x, y); },
      device);
  Trainer ours(
      compiled_model,
      [&](const Tensor& x, const Tensor& y) { return compiled(compiled_model, x, y); }, device);
  const double eager_first = eager.step(inputs, targets), first = ours.step(inputs, targets);
  double apart = 0;
  std::vector<double> eager_times, times;
  for (int i = 0; i < rounds; ++i) {
    eager_times.push_back(eager.step(inputs, targets));
    times.push_back(ours.step(inputs, targets));
    apart = std::max(apart, std::abs(ours.last_loss - eager.last_loss));
  }
  const torchdyn::Explanation explanation = torchdyn::explain(compiled);
  const auto copies_of = [&](Trainer& trainer) {
    const LayoutCopies copies;
    trainer.step(inputs, targets);
    return copies.count();
  };
  const int eager_copies = copies_of(eager);
  const int copies = copies_of(ours) + copying_kernels(explanation);
  const bool whole = explanation.variants.size() == 1 && explanation.refusals.empty() &&
                     explanation.variants[0].eager_reason.empty();
  const double before = median(eager_times), now = median(times);
  std::printf("%-12s %9.1f %9.1f %7.2f %9.2f %9.2f %9.1e %9.4f %6d %6d  %s\n", row.name,
              1e3 * before, 1e3 * now, before / now, eager_first, first, apart, ours.last_loss,
              eager_copies, copies, whole ? "" : "RAN IN EAGER");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 20;
  const at::Device device = gpt::open_device(count > 2 ? arguments[2] : "cpu");
  std::printf("%-12s %9s %9s %7s %9s %9s %9s %9s %6s %6s\n", "", "eager ms", "ours ms", "times",
              "first s", "ours s", "apart", "loss", "copies", "ours");
  for (const Row& row : rows()) measure(row, rounds, device);
}
