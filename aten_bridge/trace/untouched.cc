#include "aten_bridge/trace/untouched.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

struct TensorState {
  at::Tensor tensor;
  at::Tensor grad;
  bool requires_grad;

  bool same_grad() const { return tensor.unsafeGetTensorImpl()->grad().is_same(grad); }
};

bool equal_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

// A generator that nobody may seed. Other threads may draw from it meanwhile, so a changed state is
// no proof; the state right after seeding is. A generator that stands there already is moved on by
// one draw, so that seeding it again shows.
class SeedWatch {
 public:
  explicit SeedWatch(at::Generator generator)
      : generator_(std::move(generator)), seed_(generator_.current_seed()) {
    const std::scoped_lock lock(generator_.mutex());
    before_ = generator_.get_state();
    moved_ = equal_bytes(before_, just_seeded());
    if (moved_) move_on();
    watched_ = generator_.get_state();
  }

  bool seeded() const {
    const std::scoped_lock lock(generator_.mutex());
    return generator_.current_seed() != seed_ ||
           (!equal_bytes(generator_.get_state(), watched_) &&
            equal_bytes(generator_.get_state(), just_seeded()));
  }

  void restore() {
    const bool seeded_since = seeded();
    const std::scoped_lock lock(generator_.mutex());
    if (seeded_since || (moved_ && equal_bytes(generator_.get_state(), watched_)))
      generator_.set_state(before_);
  }

 private:
  at::Tensor just_seeded() const {
    at::Generator fresh = generator_.clone();
    fresh.set_current_seed(generator_.current_seed());
    return fresh.get_state();
  }
  void move_on() {
    if (generator_.device().is_cpu()) {
      generator_.get<at::CPUGeneratorImpl>()->random();
    } else {
      generator_.set_offset(generator_.get_offset() + 4);  // Philox counts in fours
    }
  }

  mutable at::Generator generator_;  // reading its state locks it
  uint64_t seed_;
  at::Tensor before_, watched_;
  bool moved_ = false;
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

std::vector<SeedWatch> watch_generators(const Tensors& inputs) {
  std::vector<c10::Device> devices{c10::Device(c10::kCPU)};
  for (const at::Tensor& tensor : inputs)
    if (std::find(devices.begin(), devices.end(), tensor.device()) == devices.end())
      devices.push_back(tensor.device());
  std::vector<SeedWatch> watches;
  for (const c10::Device& device : devices)
    watches.emplace_back(at::globalContext().defaultGenerator(device));
  return watches;
}

}  // namespace

struct Untouched::State {
  const CaptureInputs& inputs;
  std::vector<TensorState> tensors;
  std::vector<SeedWatch> generators;
  bool grad_mode = c10::GradMode::is_enabled();
  Autocast autocasts[2] = {Autocast(c10::kCPU), Autocast(c10::kCUDA)};
};

Untouched::Untouched(const CaptureInputs& inputs)
    : state_(new State{inputs, {}, watch_generators(inputs.tensors)}) {
  for (const at::Tensor& tensor : inputs.tensors)
    state_->tensors.push_back(
        {tensor, tensor.unsafeGetTensorImpl()->grad(), tensor.requires_grad()});
}

std::optional<std::string> Untouched::change() const {
  for (size_t i = 0; i < state_->tensors.size(); ++i) {
    const TensorState& before = state_->tensors[i];
    const std::string& name = state_->inputs.names[i];
    if (!before.same_grad())
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
    if (!before.same_grad()) before.tensor.mutable_grad() = before.grad;
    if (before.tensor.requires_grad() != before.requires_grad)
      before.tensor.unsafeGetTensorImpl()->set_requires_grad(before.requires_grad);
  }
  for (SeedWatch& generator : state_->generators) generator.restore();
  c10::GradMode::set_enabled(state_->grad_mode);
  for (const Autocast& autocast : state_->autocasts) autocast.restore();
}

}  // namespace aten_bridge
