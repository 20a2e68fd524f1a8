#include "torchdyn/package/stored_weights.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/convert.h"
#include "torchdyn/package/format/safetensors.h"
#include "torchdyn/package/format/stored_order.h"

namespace torchdyn {

using aten_bridge::str_cat;
using aten_bridge::Verdict;

bool StoredWeights::has_another(const std::string& name, const at::Tensor& tensor) const {
  for (const Weight& known : weights_)
    if (known.name == name) return !known.tensor.is_same(tensor);
  return false;
}

Verdict StoredWeights::add(const std::string& name, const at::Tensor& tensor) {
  if (has_another(name, tensor)) return Verdict::no(str_cat("two weights named ", name));
  for (const Weight& known : weights_)
    if (known.name == name) return Verdict::yes();
  if (tensor.layout() != c10::kStrided || tensor.is_mkldnn() || tensor.is_conj() || tensor.is_neg())
    return Verdict::no(str_cat("weight ", name, " has a layout that packages do not keep"));
  if (!tensor.is_non_overlapping_and_dense())
    return Verdict::no(str_cat("weight ", name, " has gaps or repeats elements in memory"));
  const at::Tensor ordered = tensor.detach().permute(stored_order(aten_bridge::type_of(tensor)));
  weights_.push_back({name, tensor, ordered.cpu().contiguous()});
  return Verdict::yes();
}

absl::StatusOr<std::vector<std::string_view>> StoredWeights::section() {
  std::stable_sort(weights_.begin(), weights_.end(), [](const Weight& a, const Weight& b) {
    return a.bytes.element_size() > b.bytes.element_size();
  });
  std::vector<StoredTensor> tensors;
  std::vector<std::string_view> pieces = {{}};
  for (const Weight& weight : weights_) {
    const std::string_view bytes(static_cast<const char*>(weight.bytes.const_data_ptr()),
                                 weight.bytes.nbytes());
    tensors.push_back({weight.name, aten_bridge::to_dtype(weight.bytes.scalar_type()),
                       weight.bytes.sizes().vec(), bytes});
    pieces.push_back(bytes);
  }
  auto header = safetensors_header(tensors);
  if (!header.ok()) return header.status();
  header_ = *std::move(header);
  pieces[0] = header_;
  return pieces;
}

}  // namespace torchdyn
