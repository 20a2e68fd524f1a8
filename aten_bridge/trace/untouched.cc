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

// Where backward passes accumulate into a tensor's .grad, under a lock of its own. A tensor has one
// as long as somebody holds it: while one lives, all threads accumulate under this lock.
class Accumulator {
 public:
  explicit Accumulator(const at::Tensor& tensor) {
    if (tensor.is_leaf() && tensor.requires_grad())
      node_ = torch::autograd::impl::grad_accumulator(tensor);
  }
  std::unique_lock<std::mutex> lock() const {
    return node_ ? std::unique_lock(OfNode::mutex(*node_)) : std::unique_lock<std::mutex>();
  }

 private:
  struct OfNode : torch::autograd::Node {
    static std::mutex& mutex(torch::autograd::Node& node) { return node.*(&OfNode::mutex_); }
  };

  std::shared_ptr<torch::autograd::Node> node_;
};

class TensorState {
 public:
  explicit TensorState(const at::Tensor& tensor)
      : tensor(tensor), requires_grad(tensor.requires_grad()), accumulator_(tensor) {
    const auto lock = accumulator_.lock();
    grad_ = tensor.unsafeGetTensorImpl()->grad();
  }

  bool grad_was_set() const {
    const auto lock = accumulator_.lock();
    return is_set_by_callable(tensor.unsafeGetTensorImpl()->grad());
  }

  void restore_grad() {
    const auto lock = accumulator_.lock();
    c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    if (is_set_by_callable(impl.grad())) std::swap(impl.mutable_grad(), grad_);
  }

  const at::Tensor tensor;
  const bool requires_grad;

 private:
  // A gradient that nobody else has a handle of was accumulated by another thread's backward, and
  // stays.
  bool is_set_by_callable(const at::Tensor& now) const {
    if (now.is_same(grad_)) return false;
    return !now.defined() || now.use_count() > 1 || now.key_set().has_any(kStandIns);
  }

  Accumulator accumulator_;
  at::Tensor grad_;
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
  for (const at::Tensor& tensor : inputs.tensors) state_->tensors.emplace_back(tensor);
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
