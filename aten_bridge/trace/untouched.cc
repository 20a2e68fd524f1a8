#include "aten_bridge/trace/untouched.h"

#include <algorithm>
#include <mutex>
#include <optional>
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

// Where a generator of the CPU or of a GPU stands. Read, compared and put back without memory that
// would have to be found: it is put back when memory is short, too.
class Stand {
 public:
  static Stand of(const at::Generator& generator) {
    Stand stand;
    stand.seed_ = generator.current_seed();
    if (auto* cpu = of_cpu(generator)) {
      stand.engine_ = cpu->engine().data();
      stand.normal_ = cpu->next_float_normal_sample();
      stand.double_normal_ = cpu->next_double_normal_sample();
    } else {
      stand.offset_ = generator.get_offset();
    }
    return stand;
  }

  uint64_t seed() const { return seed_; }

  bool is_just_seeded() const {
    Stand fresh;
    fresh.seed_ = seed_;
    if (engine_) fresh.engine_ = at::mt19937(seed_).data();
    return *this == fresh;
  }

  void put_into(at::Generator& generator) const {
    if (auto* cpu = of_cpu(generator)) {
      at::mt19937 engine;
      engine.set_data(*engine_);
      cpu->set_engine(engine);
      cpu->set_next_float_normal_sample(normal_);
      cpu->set_next_double_normal_sample(double_normal_);
    } else {
      generator.set_current_seed(seed_);
      generator.set_offset(offset_);
    }
  }

  static void move_on(at::Generator& generator) {
    if (auto* cpu = of_cpu(generator)) {
      cpu->random();
    } else {
      generator.set_offset(generator.get_offset() + 4);  // Philox counts in fours
    }
  }

  bool operator==(const Stand& other) const {
    const auto& a = engine_;
    const auto& b = other.engine_;
    return seed_ == other.seed_ && offset_ == other.offset_ && normal_ == other.normal_ &&
           double_normal_ == other.double_normal_ && a.has_value() == b.has_value() &&
           (!a || (a->left_ == b->left_ && a->next_ == b->next_ && a->state_ == b->state_));
  }

 private:
  static at::CPUGeneratorImpl* of_cpu(const at::Generator& generator) {
    return generator.device().is_cpu() ? generator.get<at::CPUGeneratorImpl>() : nullptr;
  }

  uint64_t seed_ = 0, offset_ = 0;
  std::optional<at::mt19937_data_pod> engine_;  // of the CPU's
  std::optional<float> normal_;
  std::optional<double> double_normal_;
};

// A generator that nobody may seed. Other threads may draw from it meanwhile, so a changed state is
// no proof; the state right after seeding is. A generator that stands there already is moved on by
// one draw, so that seeding it again shows.
class SeedWatch {
 public:
  explicit SeedWatch(at::Generator generator) : generator_(std::move(generator)) {
    const std::scoped_lock lock(generator_.mutex());
    before_ = Stand::of(generator_);
    moved_ = before_.is_just_seeded();
    if (moved_) Stand::move_on(generator_);
    watched_ = Stand::of(generator_);
  }

  bool seeded() const {
    const std::scoped_lock lock(generator_.mutex());
    const Stand now = Stand::of(generator_);
    return now.seed() != watched_.seed() || (now != watched_ && now.is_just_seeded());
  }

  void restore() {
    const bool seeded_since = seeded();
    const std::scoped_lock lock(generator_.mutex());
    if (seeded_since || (moved_ && Stand::of(generator_) == watched_)) before_.put_into(generator_);
  }

 private:
  mutable at::Generator generator_;  // reading its state locks it
  Stand before_, watched_;
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
