// The device of td_cuda_device.cuh on a host: in its place before the rest of the preamble, it lets
// a C++ compiler compile CUDA kernels, and runs a block's threads as fibers of one thread.
//
//   #include "tests/inductor/support/td_cuda_on_host.h"
//   <td_cuda.cuh and what follows it, the kernel>
//   const char* error = td_host::launch<softmax_7f3a>(arguments, count, blocks, threads, backward);
//
// Blocks run one after another. A warp runs as far as it can before the next one starts, a thread
// until it waits for others, so that a missing barrier shows as a wrong result for one order of the
// threads or for the other; shared memory is filled with NaN before each block. What a device
// leaves undefined is an error here: a barrier that not all threads reach, a vector access that is
// not aligned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <math.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include "inductor/ir/scalar_reference.h"

namespace td_host {
namespace cpu {
#include "inductor/emit/preamble/td_cpu.h"
#include "inductor/emit/preamble/td_cpu_convert.h"
}  // namespace cpu

enum class State { kReady, kAtLanes, kAtBlock, kDone };

struct Fiber {
  ucontext_t start;
  jmp_buf resume;
  bool is_started;
  State state;
  int lanes;                        // kAtLanes: of how many, this one among them
  unsigned long long exchanged[2];  // this thread's side of exchanges, by turns
  int exchanges;
};

struct Device {
  void (*kernel)(void* const* arguments);
  void* const* arguments;
  Fiber fibers[1024];
  char* stacks;
  jmp_buf scheduler;
  int block, thread, threads;
  const char* error;

  ~Device() { free(stacks); }
};
static Device device;  // not inline: that would be one for all loaded libraries

inline constexpr size_t kStack = 1 << 16;

// Lets others run until all of the warp or of the block have come this far.
__attribute__((noinline)) inline void wait(State state) {
  Fiber& self = device.fibers[device.thread];
  self.state = state;
  asm volatile("" ::: "memory");
  if (_setjmp(self.resume) == 0) _longjmp(device.scheduler, 1);
}

[[noreturn]] inline void fail(const char* error) {
  device.error = error;
  _longjmp(device.scheduler, 1);
}

// A fiber serves one block after another.
inline void run_fiber() {
  for (;;) {
    device.kernel(device.arguments);
    wait(State::kDone);
  }
}

inline void resume(int thread) {
  Fiber& fiber = device.fibers[thread];
  device.thread = thread;
  if (_setjmp(device.scheduler) != 0) return;
  if (fiber.is_started) _longjmp(fiber.resume, 1);
  fiber.is_started = true;
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = device.stacks + static_cast<size_t>(thread) * kStack;
  fiber.start.uc_stack.ss_size = kStack;
  fiber.start.uc_link = nullptr;
  makecontext(&fiber.start, run_fiber, 0);
  setcontext(&fiber.start);
}

// Threads first to last - 1 go on if all of them are in this state.
inline bool release(int first, int last, State state) {
  for (int t = first; t < last; ++t)
    if (device.fibers[t].state != state) return false;
  for (int t = first; t < last; ++t) device.fibers[t].state = State::kReady;
  return true;
}

// How many groups of lanes went on, since all of them wait for each other.
inline int release_lanes(int first) {
  int released = 0;
  for (int t = first; t < first + 32;) {
    const Fiber& fiber = device.fibers[t];
    const int lanes = fiber.state == State::kAtLanes ? fiber.lanes : 1;
    if (fiber.state == State::kAtLanes) {
      bool all = true;
      for (int n = t; n < t + lanes; ++n) all &= device.fibers[n].lanes == lanes;
      released += all && release(t, t + lanes, State::kAtLanes);
    }
    t += lanes;
  }
  return released;
}

// Until all of its threads wait for the block or are done.
inline void run_warp(int first, bool backward) {
  do {
    for (int n = 0; n < 32 && !device.error; ++n) {
      const int t = first + (backward ? 31 - n : n);
      if (device.fibers[t].state == State::kReady) resume(t);
    }
  } while (!device.error && release_lanes(first) > 0);
}

extern "C" char __start_td_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_td_shared[] __attribute__((weak, visibility("hidden")));

inline void run_block(bool backward) {
  if (__start_td_shared)
    memset(__start_td_shared, 0xff, static_cast<size_t>(__stop_td_shared - __start_td_shared));
  for (Fiber& fiber : device.fibers) {
    fiber.state = State::kReady;
    fiber.exchanges = 0;
  }
  do {
    for (int first = 0; first < device.threads; first += 32)
      run_warp(backward ? device.threads - 32 - first : first, backward);
  } while (!device.error && release(0, device.threads, State::kAtBlock));
  if (!device.error && !release(0, device.threads, State::kDone))
    device.error = "threads wait for others that do not come";
}

template <auto kernel, class... Parameters, size_t... I>
void call(void (*)(Parameters...), void* const* arguments, std::index_sequence<I...>) {
  kernel(*static_cast<Parameters*>(arguments[I])...);
}
template <class... Parameters>
constexpr auto parameters(void (*)(Parameters...)) {
  return std::index_sequence_for<Parameters...>();
}

// `arguments` point to the kernel's, as cuLaunchKernel's do. Null, or what went wrong.
template <auto kernel>
const char* launch(void* const* arguments, int count, int64_t blocks, int threads, bool backward) {
  if (count != int(parameters(kernel).size())) return "the kernel has another number of parameters";
  if (threads % 32 != 0 || threads < 32 || threads > 1024) return "no block has so many threads";
  if (!device.stacks) device.stacks = static_cast<char*>(malloc(1024 * kStack));
  device.kernel = [](void* const* a) { call<kernel>(kernel, a, parameters(kernel)); };
  device.arguments = arguments;
  if (device.error)  // fibers are still under way
    for (Fiber& fiber : device.fibers) fiber.is_started = false;
  device.error = nullptr;
  device.threads = threads;
  for (int64_t b = 0; b < blocks && !device.error; ++b) {
    device.block = static_cast<int>(b);
    run_block(backward);
  }
  return device.error;
}

}  // namespace td_host

#define TD static inline __attribute__((unused))
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("td_shared")))

// ---- td_cuda_device.cuh ----

TD int td_block() { return td_host::device.block; }
TD int td_thread() { return td_host::device.thread; }
TD void td_sync_block() { td_host::wait(td_host::State::kAtBlock); }

template <int LANES>
TD void td_sync_lanes() {
  td_host::device.fibers[td_thread()].lanes = LANES;
  td_host::wait(td_host::State::kAtLanes);
}
template <int LANES, class T>
TD T td_shuffle_xor(T x, int mask) {
  td_host::Fiber* const fibers = td_host::device.fibers;
  const int self = td_thread(), turn = fibers[self].exchanges++ % 2;
  fibers[self].exchanged[turn] = x;
  td_sync_lanes<LANES>();
  return T(fibers[self ^ mask].exchanged[turn]);
}

TD float td_widen_f16(unsigned short bits) {
  return td_host::cpu::td_widen(td_host::cpu::f16{bits});
}
TD unsigned short td_narrow_f16(float x) {
  return td_host::cpu::td_narrow(x, td_host::cpu::f16()).bits;
}
TD unsigned short td_narrow_bf16(float x) {
  return td_host::cpu::td_narrow(x, td_host::cpu::bf16()).bits;
}
TD float td_round_bf16(float x) {
  return td_host::cpu::td_widen(td_host::cpu::td_narrow(x, td_host::cpu::bf16()));
}
TD float td_add_bf16(float a, float b) { return td_round_bf16(a + b); }
TD float td_mul_bf16(float a, float b) { return td_round_bf16(a * b); }

TD float td_exp2_near(float x) { return exp2f(x); }
TD float td_reciprocal_near(float x) { return 1 / x; }
TD float td_sin_near(float x) { return sinf(x); }
TD float td_cos_near(float x) { return cosf(x); }

template <class T>
TD T td_max_nan(T a, T b) {
  return a != a ? a : b != b ? b : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
template <class T>
TD T td_min_nan(T a, T b) {
  return a != a ? a : b != b ? b : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

template <int BYTES, class T>
TD T* td_aligned(T* p) {
  if (reinterpret_cast<uintptr_t>(p) % BYTES != 0) td_host::fail("a vector access is not aligned");
  return p;
}

// CUDA's functions that C does not have.
TD float rsqrtf(float x) { return float(1 / sqrt(double(x))); }
TD double rsqrt(double x) { return 1 / sqrt(x); }
TD float erfinvf(float x) { return td_ref::erfinv(x); }
TD double erfinv(double x) { return td_ref::erfinv(x); }
