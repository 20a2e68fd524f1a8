// The run loop: a plan's steps over a table of addresses. Knows no tensor library.
//   void* addresses[] = {...};                    // one a buffer; inputs and arena filled in
//   run_steps(plan, launchers, addresses, memory, context);
#pragma once

#include <span>

#include "inductor/runtime/core/kernel_plan.h"
#include "inductor/runtime/core/launcher.h"

namespace inductor {

// What the loop asks of a tensor library. `call` counts extern calls from 0, in order.
class TensorMemory {
 public:
  virtual void* allocate(int buffer) = 0;
  virtual void release(int buffer) = 0;
  // Runs the operator and sets the addresses of its results.
  virtual void run_extern(int call, const ExternCall& step, void** addresses) = 0;

 protected:
  ~TensorMemory() = default;
};

// Launch sizes and shapes are constants in a plan that is linked.
void run_steps(const KernelPlan& plan, std::span<const Launcher> launchers, void** addresses,
               TensorMemory& memory, const TdContext& context);

}  // namespace inductor
