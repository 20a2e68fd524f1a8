#include "inductor/runtime/core/run_steps.h"

#include "absl/container/inlined_vector.h"

namespace inductor {
namespace {

void run_launch(const Launch& launch, const Launcher& launcher, void* const* addresses,
                const TdContext& context) {
  absl::InlinedVector<void*, 24> buffers(launch.buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i] = addresses[launch.buffers[i]];
  absl::InlinedVector<int64_t, 8> sizes(launch.sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = launch.sizes[i].as_constant();
  absl::InlinedVector<void*, 4> values(launch.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = addresses[launch.values[i]];
  const LaunchArguments arguments{buffers.data(),
                                  static_cast<int>(buffers.size()),
                                  sizes.data(),
                                  static_cast<int>(sizes.size()),
                                  launch.shape.blocks.as_constant(),
                                  launch.shape.threads,
                                  values.data(),
                                  static_cast<int>(values.size())};
  launcher.function(launcher.self, arguments, &context);
}

}  // namespace

void run_steps(const KernelPlan& plan, std::span<const Launcher> launchers, void** addresses,
               TensorMemory& memory, const TdContext& context) {
  size_t launch = 0;
  int call = 0;
  for (const Step& step : plan.steps) {
    if (auto* l = std::get_if<Launch>(&step)) {
      run_launch(*l, launchers[launch++], addresses, context);
    } else if (auto* c = std::get_if<ExternCall>(&step)) {
      memory.run_extern(call++, *c, addresses);
    } else if (auto* a = std::get_if<Allocate>(&step)) {
      addresses[a->buffer] = memory.allocate(a->buffer);
    } else {
      memory.release(std::get<Release>(step).buffer);
    }
  }
}

}  // namespace inductor
