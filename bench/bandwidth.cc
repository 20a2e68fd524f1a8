// How near do compiled kernels on a GPU come to the bandwidth of a copy?
//   bench_bandwidth [MiB...]         sizes of the input, 64, 256 and 1024 by default
// Bytes are those that a kernel must read and write; the copy is LibTorch's own, in the same run.
// Budget: 75 % of the copy for pointwise kernels and row reductions, from 64 MiB up.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <torch/torch.h>

#include "bench/gpt/device.h"
#include "torchdyn/compile.h"

namespace {

using torch::Tensor;

constexpr int64_t kColumns = 4096;
constexpr int kRounds = 5, kCalls = 20;

Tensor add_relu(const Tensor& x) { return torch::relu(x + 1); }
Tensor gelu_chain(const Tensor& x) {
  return 0.5 * x * (1 + torch::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
Tensor to_bf16(const Tensor& x) { return x.to(torch::kBFloat16); }
Tensor softmax(const Tensor& x) { return torch::softmax(x, -1); }
Tensor layer_norm_gelu(const Tensor& x) { return torch::gelu(torch::layer_norm(x, {kColumns})); }
Tensor row_sum(const Tensor& x) { return x.sum(-1); }
Tensor column_sum(const Tensor& x) { return x.sum(0); }

struct Pattern {
  const char* name;
  Tensor (*function)(const Tensor&);
};
const Pattern kPatterns[] = {
    {"add, relu", add_relu},    {"GELU chain", gelu_chain},           {"to bf16", to_bf16},
    {"softmax", softmax},       {"LayerNorm, GELU", layer_norm_gelu}, {"row sum", row_sum},
    {"column sum", column_sum},
};

// GB/s: the median of rounds, each of calls that the device works off in one go.
double bandwidth(c10::Device device, int64_t bytes, const std::function<void()>& call) {
  call();
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    gpt::synchronize(device);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    gpt::synchronize(device);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kCalls);
  }
  std::sort(seconds.begin(), seconds.end());
  return static_cast<double>(bytes) / seconds[kRounds / 2] / 1e9;
}

void measure(c10::Device device, int64_t mib, torch::Dtype dtype) {
  const torch::NoGradGuard no_grad;
  const int64_t rows = mib * 1024 * 1024 / kColumns / torch::elementSize(dtype);
  const Tensor x = torch::randn({rows, kColumns}, torch::TensorOptions(device).dtype(dtype));
  const double copy = bandwidth(device, 2 * x.nbytes(), [&] { x.clone(); });
  std::printf("%5lld MiB %-8s  %-16s %6.0f GB/s\n", static_cast<long long>(mib),
              torch::toString(dtype), "copy", copy);
  for (const Pattern& p : kPatterns) {
    if (p.function == to_bf16 && dtype == torch::kBFloat16) continue;  // does nothing
    const auto compiled = torchdyn::compile(p.function);
    const Tensor got = compiled(x), expected = p.function(x);
    const bool equal = torch::allclose(got.to(torch::kFloat), expected.to(torch::kFloat), 2e-2, 1);
    const auto variant = torchdyn::explain(compiled).variants.at(0);
    if (!variant.eager_reason.empty() || !equal) {
      std::printf("%32s %s\n", p.name, equal ? variant.eager_reason.c_str() : "differs from eager");
      continue;
    }
    const int64_t bytes = static_cast<int64_t>(x.nbytes() + got.nbytes());
    const double ours = bandwidth(device, bytes, [&] { compiled(x); });
    const double eager = bandwidth(device, bytes, [&] { p.function(x); });
    std::printf("%32s %6.0f GB/s = %3.0f %% of the copy, %4.2f times eager\n", p.name, ours,
                100 * ours / copy, ours / eager);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::max(1, std::atoi(argv[i])));
  if (sizes.empty()) sizes = {64, 256, 1024};
  const c10::Device device = gpt::open_device("cuda");
  for (int64_t mib : sizes)
    for (torch::Dtype dtype : {torch::kFloat, torch::kBFloat16}) measure(device, mib, dtype);
  return 0;
} catch (const gpt::DeviceError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
