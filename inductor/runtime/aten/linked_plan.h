// A plan prepared for LibTorch: whatever does not change from call to call, in LibTorch's own
// terms.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/util/SmallVector.h>

#include "inductor/runtime/core/kernel_plan.h"

namespace inductor {

struct Layout {
  c10::SmallVector<int64_t, 5> sizes, strides;
  int64_t bytes = 0;  // first element to last
  caffe2::TypeMeta dtype;
};

// How a tensor is made from a buffer.
struct View {
  int buffer = -1;
  bool itself = false;  // the buffer's own tensor serves
  Layout layout;
  int64_t offset = 0;  // elements
};

struct LinkedCall {
  c10::OperatorHandle op;
  std::vector<c10::IValue> stack;  // the arguments; tensors are filled in on every call
  struct TensorSlot {
    size_t slot;
    View view;
  };
  struct ListSlot {
    size_t slot;
    bool optional;  // Tensor?[]
    std::vector<std::optional<View>> views;
  };
  std::vector<TensorSlot> tensors;
  std::vector<ListSlot> lists;
  bool in_grad_mode = false;  // the kernel keeps what a backward needs there alone
  // What is called in the operator's place, on the same stack; null: the operator is.
  std::function<void(std::vector<c10::IValue>& stack)> stand_in = nullptr;
};

// Where a plan's kernels run and its memory comes from.
struct PlanDevice {
  c10::Device device{c10::kCPU};
  c10::Allocator* allocator = nullptr;
  uintptr_t alignment = 1;  // bytes; kernels rely on it for every address that they are given

  void* current_stream() const;  // of this thread there
};

struct LinkedPlan {
  PlanDevice device;
  std::vector<Layout> buffers;
  std::vector<std::pair<int, int64_t>> arena;  // buffers and their offsets
  int64_t arena_bytes = 0;
  std::vector<LinkedCall> calls;  // one an extern call, in order
  std::vector<std::optional<View>> outputs;
  bool draws = false;        // from a generator, for kernels
  std::vector<int> aligned;  // inputs that must be, for the numbers to be eager's
};

}  // namespace inductor
