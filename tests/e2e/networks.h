// Small networks of the kinds that people train, each with data that it learns from and a loss.
//   for (const NetworkRow& row : network_rows()) row.build()->loss(row.data().inputs, ...);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

// Written as one would without thinking of compilers.
class Network : public torch::nn::Module {
 public:
  virtual torch::Tensor loss(const torch::Tensor& inputs, const torch::Tensor& targets) = 0;
};

struct Data {
  torch::Tensor inputs, targets;
};

struct NetworkRow {
  std::string name;
  std::function<std::shared_ptr<Network>()> build;
  std::function<Data()> data;
  std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)> optimizer;
  // No ReLU, no maximum: where one turns on the last bit of a float, the gradient jumps.
  bool smooth;
};

const std::vector<NetworkRow>& network_rows();
