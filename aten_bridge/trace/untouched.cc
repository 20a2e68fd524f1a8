#include "aten_bridge/trace/untouched.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/seed_watch.h"

namespace aten_bridge {
namespace {

constexpr c10::DispatchKeySet kStandIns({c10::DispatchKey::Functionalize, c10::DispatchKey::Fake});

// While one lives, no other thread's backward accumulates into the tensor's .grad: the lock is the
// one that AccumulateGrad takes.
class GradLock {
 public:
  explicit GradLock(const at::Tensor& tensor) {
    accumulator_ = torch::autograd::impl::try_get_grad_accumulator(tensor);
    if (!accumulator_) return;  // nobody has a graph that ends here; making one may fail
    lock_ = std::unique_lock(OfNode::mutex(*accumulator_));
  }

 private:
  struct OfNode : torch::autograd::Node {
    static std::mutex& mutex(torch::autograd::Node& node) { return node.*(&OfNode::mutex_); }
  };

  std::shared_ptr<torch::autograd::Node> accumulator_;
  std::unique_lock<std::mutex> lock_;
};

at::Tensor grad_of(const at::Tensor& tensor) {
  const GradLock lock(tensor);
  return tensor.unsafeGetTensorImpl()->grad();
}

struct TensorState {
  at::Tensor tensor;
  at::Tensor grad;
  bool requires_grad;

  bool grad_was_set() const {
    const GradLock lock(tensor);
    return is_set_by_callable(tensor.unsafeGetTensorImpl()->grad());
  }

  void restore_grad() {
    const GradLock lock(tensor);
    at::Tensor& now = tensor.unsafeGetTensorImpl()->mutable_grad();
    if (is_set_by_callable(now)) std::swap(now, grad);
  }

 private:
  // A gradient that nobody else has a handle of was accumulated by another thread's backward, and
  // stays.
  bool is_set_by_callable(const at::Tensor& now) const {
    if (now.is_same(grad)) return false;
    return !now.defined() || now.use_count() > 1 || now.key_set().has_any(kStandIns);
  }
};

struct Autocast {
  c10::DeviceType device;
  bool enabled;
  at::ScalarType dtype;

  explicit Autocast(c10::DeviceType device)
      : device(device),
        enabled(at::autocast::is_autocast_enabled(device)),
        dtype(at::autocast::get_autocast_dtype(device)) {}
  bool changed() const {
    return at::autocast::is_autocast_enabled(device) != enabled ||
           at::autocast::get_autocast_dtype(device) != dtype;
  }
  void restore() const {
    if (!changed()) return;
    at::autocast::set_autocast_enabled(device, enabled);
    at::autocast::set_autocast_dtype(device, dtype);
  }
};

std::deque<SeedWatch> watch_generators(const Tensors& inputs) {
  std::vector<c10::Device> devices{c10::Device(c10::kCPU)};
  for (const at::Tensor& tensor : inputs)
    if (std::find(devices.begin(), devices.end(), tensor.device()) == devices.end())
      devices.push_back(tensor.device());
  std::deque<SeedWatch> watches;
  for (const c10::Device& device : devices)
    watches.emplace_back(at::globalContext().defaultGenerator(device));
  return watches;
}

}  // namespace

struct Untouched::State {
  const CaptureInputs& inputs;
  std::vector<TensorState> tensors;
  std::deque<SeedWatch> generators;
  bool grad_mode = c10::GradMode::is_enabled();
  Autocast autocasts[2] = {Autocast(c10::kCPU), Autocast(c10::kCUDA)};
};

Untouched::Untouched(const CaptureInputs& inputs)
    : state_(new State{inputs, {}, watch_generators(inputs.tensors)}) {
  for (const at::Tensor& tensor : inputs.tensors)
    state_->tensors.push_back({tensor, grad_of(tensor), tensor.requires_grad()});
}

std::optional<std::string> Untouched::change() const {
  for (size_t i = 0; i < state_->tensors.size(); ++i) {
    const TensorState& before = state_->tensors[i];
    const std::string& name = state_->inputs.names[i];
    if (before.grad_was_set())
      return str_cat("the callable changes the .grad of '", name,
                     "' (zero_grad inside?); do that outside of the compiled callable");
    if (before.tensor.requires_grad() != before.requires_grad)
      return str_cat("the callable changes whether '", name, "' requires grad");
  }
  for (const SeedWatch& generator : state_->generators)
    if (generator.seeded()) return "the callable seeds a random generator";
  if (c10::GradMode::is_enabled() != state_->grad_mode)
    return "the callable leaves another grad mode behind";
  for (const Autocast& autocast : state_->autocasts)
    if (autocast.changed()) return "the callable leaves another autocast state behind";
  return std::nullopt;
}

Untouched::~Untouched() {
  for (TensorState& before : state_->tensors) {
    before.restore_grad();
    if (before.tensor.requires_grad() != before.requires_grad)
      before.tensor.unsafeGetTensorImpl()->set_requires_grad(before.requires_grad);
  }
  state_->generators.clear();
  c10::GradMode::set_enabled(state_->grad_mode);
  for (const Autocast& autocast : state_->autocasts) autocast.restore();
}

}  // namespace aten_bridge
