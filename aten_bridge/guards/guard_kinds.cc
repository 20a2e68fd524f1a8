#include "aten_bridge/guards/guard_kinds.h"

#include <mutex>

#include <torch/csrc/autograd/variable.h>

namespace aten_bridge::kinds {
namespace {

// The bytes from a tensor's first element to the end of its last.
int64_t extent(const at::Tensor& t) noexcept {
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) == 0) return 0;
    last += (t.size(d) - 1) * t.stride(d);
  }
  return (last + 1) * static_cast<int64_t>(t.itemsize());
}

int64_t begin(const at::Tensor& t) noexcept {
  return t.storage_offset() * static_cast<int64_t>(t.itemsize());
}

const c10::StorageImpl* storage_of(const at::Tensor& t) noexcept {
  return t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

const at::Tensor& tensor_of(const at::Tensor& tensor) { return tensor; }
const at::Tensor& tensor_of(const at::Tensor* tensor) { return *tensor; }

// Calls visit(pair) for each overlapping pair in order, until it returns false.
template <class Tensors, class Visit>
bool each_pair(Tensors tensors, Visit visit) noexcept(noexcept(visit({}))) {
  const int n = static_cast<int>(tensors.size());
  for (int i = 0; i < n; ++i) {
    const at::Tensor& one = tensor_of(tensors[i]);
    const c10::StorageImpl* storage = storage_of(one);
    // The usual case: nobody else has this memory.
    if (!storage || one.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1) continue;
    for (int j = i + 1; j < n; ++j) {
      const at::Tensor& other = tensor_of(tensors[j]);
      if (storage_of(other) != storage) continue;
      const int64_t apart = begin(other) - begin(one);
      const int64_t size_i = extent(one), size_j = extent(other);
      if (size_i == 0 || size_j == 0 || apart >= size_i || -apart >= size_j) continue;
      if (!visit(SharedMemory::Pair{i, j, apart})) return false;
    }
  }
  return true;
}

}  // namespace

int64_t Handles::read(const at::Tensor& t) noexcept {
  const auto* meta = torch::autograd::impl::get_autograd_meta(t);
  bool accumulated = false;
  if (meta) {  // another thread's backward may make one meanwhile
    const std::lock_guard lock(meta->mutex_);
    accumulated = !meta->grad_accumulator_.expired();
  }
  return static_cast<int64_t>(t.use_count()) - (accumulated ? 1 : 0);
}

SharedMemory::Value SharedMemory::read(std::span<const at::Tensor> tensors) {
  Value pairs;
  each_pair(tensors, [&](const Pair& pair) {
    pairs.push_back(pair);
    return true;
  });
  return pairs;
}

namespace {

template <class Tensors>
bool are_pairs_of(const SharedMemory::Value& was, Tensors tensors) noexcept {
  size_t next = 0;
  const bool known = each_pair(tensors, [&](const SharedMemory::Pair& pair) noexcept {
    return next < was.size() && was[next++] == pair;
  });
  return known && next == was.size();
}

}  // namespace

bool SharedMemory::holds(const Value& was, std::span<const at::Tensor> tensors) noexcept {
  return are_pairs_of(was, tensors);
}

bool SharedMemory::holds(const Value& was, std::span<const at::Tensor* const> tensors) noexcept {
  return are_pairs_of(was, tensors);
}

std::string SharedMemory::text(const Value& v, std::span<const std::string> names) {
  if (v.empty()) return "none";
  return absl::StrJoin(v, ", ", [&](std::string* out, const Pair& pair) {
    absl::StrAppend(out, names[pair.first], " and ", names[pair.second], " (", pair.bytes_apart,
                    " bytes apart)");
  });
}

}  // namespace aten_bridge::kinds
