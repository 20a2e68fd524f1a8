// A loaded kernel, ready to be launched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace inductor {

// What generated code may ask of the runtime; the C layout is repeated in emit/preamble/td_cpu.h.
extern "C" {
struct TdContext {
  // Calls body(argument, begin, end) over a split of [0, count) into pieces of at least `grain`;
  // returns when all are done.
  void (*parallel_for)(int64_t count, int64_t grain,
                       void (*body)(void* argument, int64_t begin, int64_t end), void* argument);
  void* stream;  // CUDA: the current stream
  int device;    // CUDA: the ordinal of the device that the buffers are on
};
}

struct LaunchArguments {
  void* const* buffers;  // addresses
  int buffer_count;
  const int64_t* sizes;
  int size_count;
  int64_t blocks;                 // 0 blocks: nothing to do
  int threads;                    // of a block; 0 for a CPU kernel
  void* const* values = nullptr;  // memory of the host whose contents are arguments; read at once
  int value_count = 0;
};

struct Launcher {
  // Runs or enqueues the kernel. No allocation, no lock.
  using Function = void (*)(const void* self, const LaunchArguments& arguments,
                            const TdContext* context);
  Function function = nullptr;
  const void* self = nullptr;           // the code address, or what the backend keeps of the kernel
  std::shared_ptr<const void> library;  // keeps the code loaded
};

}  // namespace inductor
