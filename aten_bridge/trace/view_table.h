// The views among a graph's values. Sizes, strides and offset say all of a view of a memory, so a
// view that looks like one that is there already, or like what it views, is that value.
//   if (auto same = views.find(base_fake, twin)) return *same;
//   views.add(base_fake, twin, node->output(0));
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

class ViewTable {
 public:
  // The value in the memory of the fake `base` that has this meta tensor's geometry.
  std::optional<Value> find(const at::Tensor& base, const at::Tensor& twin) const;
  void add(const at::Tensor& base, const at::Tensor& twin, Value view);
  // The value whose memory this one shares when views are run as views; itself when it is no view.
  Value root(Value value) const;

 private:
  HashMap<Value, Value> roots_;                                      // of views
  HashMap<Value, std::vector<std::pair<at::Tensor, Value>>> views_;  // by root, itself too
};

// Whether two tensors of one memory are the same.
bool same_geometry(const at::Tensor& a, const at::Tensor& b);

}  // namespace aten_bridge
