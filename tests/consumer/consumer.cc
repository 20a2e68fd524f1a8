// Trains a network through an installed torchdyn; exits with 0 when it computes what eager does.
//   consumer FOLDER      leaves packages there: loss.td, and twice.td, which needs no LibTorch
#include <iostream>

#include <torch/torch.h>
#include <torchdyn/compile.h>
#include <torchdyn/package.h>

namespace nn = torch::nn;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  torch::manual_seed(0);
  nn::Sequential net(nn::Linear(6, 16), nn::GELU(), nn::Linear(16, 3));
  const auto loss = [](nn::Sequential& n, const torch::Tensor& x, const torch::Tensor& y) {
    return nn::functional::cross_entropy(n->forward(x), y);
  };
  auto compiled = torchdyn::compile(loss);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  const torch::Tensor x = torch::randn({32, 6}), y = torch::randint(3, {32});
  for (int step = 0; step < 5; ++step) {
    const double eager = loss(net, x, y).item<double>();
    optimizer.zero_grad();
    const torch::Tensor ours = compiled(net, x, y);
    ours.backward();
    optimizer.step();
    if (std::abs(ours.item<double>() - eager) > 1e-6) return 1;
  }
  std::cout << torchdyn::explain(compiled);

  torchdyn::save(compiled, folder + "/loss.td");
  if (!torchdyn::load(folder + "/loss.td")({x, y})[0].equal(compiled(net, x, y))) return 3;
  auto twice = torchdyn::compile([](const torch::Tensor& t) { return t * 2; });
  twice(torch::rand({2}));
  torchdyn::save(twice, folder + "/twice.td");
  return torchdyn::explain(compiled).kernel_launches() > 0 ? 0 : 1;
}
