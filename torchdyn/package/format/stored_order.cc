#include "torchdyn/package/format/stored_order.h"

#include <algorithm>
#include <numeric>

namespace torchdyn {

std::vector<int64_t> stored_order(const aten_bridge::TensorType& type) {
  const auto stride = [&](int64_t d) { return type.strides[static_cast<size_t>(d)].as_constant(); };
  const auto is_one = [&](int64_t d) { return type.sizes[static_cast<size_t>(d)] == 1; };
  std::vector<int64_t> order(type.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (stride(a) != stride(b)) return stride(a) > stride(b);
    return !is_one(a) && is_one(b);  // a stride of one element says nothing
  });
  return order;
}

}  // namespace torchdyn
