// The C API of torchdyn: every package, on LibTorch's tensors.
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/trace/convert.h"
#include "torchdyn/c_api/package_handle.h"
#include "torchdyn/package.h"

namespace torchdyn {
namespace {

std::vector<int64_t> constants(const std::vector<aten_bridge::SymExpr>& exprs) {
  std::vector<int64_t> values;
  for (const auto& e : exprs) values.push_back(e.as_constant());
  return values;
}

std::vector<at::Tensor> borrowed(const std::vector<PlainTensor>& tensors) {
  std::vector<at::Tensor> list;
  for (const PlainTensor& x : tensors)
    list.push_back(at::from_blob(x.data, constants(x.type.sizes), constants(x.type.strides),
                                 aten_bridge::to_scalar_type(x.type.dtype)));
  return list;
}

class AtenTrainer final : public TrainerHandle {
 public:
  AtenTrainer(Package package, const std::string& optimizer)
      : trainer_(std::move(package), optimizer) {}

  absl::StatusOr<double> step(const std::vector<PlainTensor>& inputs) override {
    try {
      return trainer_.step(borrowed(inputs));
    } catch (const PackageError& error) {
      return absl::InvalidArgumentError(error.what());
    }
  }
  void set_learning_rate(double rate) override { trainer_.set_learning_rate(rate); }

 private:
  Trainer trainer_;
};

class AtenHandle final : public PackageHandle {
 public:
  explicit AtenHandle(Package package)
      : package_(std::move(package)), manifest_(package_.manifest()) {}

  const std::string& manifest() const override { return manifest_; }

  absl::StatusOr<std::vector<PlainTensor>> call(
      const std::string& method, const std::vector<PlainTensor>& inputs) const override {
    const c10::AutoGradMode without_gradients(false);
    const std::vector<at::Tensor> arguments = borrowed(inputs);
    std::vector<PlainTensor> results;
    try {
      for (const at::Tensor& result : package_.call(method, arguments))
        results.push_back(plain(is_ours(result, arguments) ? result : result.clone()));
    } catch (const PackageError& error) {
      return absl::InvalidArgumentError(error.what());
    }
    return results;
  }

  absl::Status save(const std::string& path) const override {
    try {
      package_.save(path);
    } catch (const PackageError& error) {
      return absl::UnavailableError(error.what());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<TrainerHandle>> train(
      const std::string& optimizer) const override {
    try {
      return std::make_unique<AtenTrainer>(package_, optimizer);
    } catch (const PackageError& error) {
      return absl::InvalidArgumentError(error.what());
    }
  }

 private:
  // Neither the caller's memory nor a weight's.
  bool is_ours(const at::Tensor& result, const std::vector<at::Tensor>& arguments) const {
    for (const at::Tensor& argument : arguments)
      if (result.is_alias_of(argument)) return false;
    for (const auto& [name, weight] : package_.weights())
      if (result.is_alias_of(weight)) return false;
    return true;
  }

  static PlainTensor plain(const at::Tensor& tensor) {
    auto owner = std::make_shared<at::Tensor>(tensor);
    return {aten_bridge::type_of(tensor), tensor.data_ptr(), {owner, owner->data_ptr()}};
  }

  const Package package_;
  const std::string manifest_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PackageHandle>> open_package(const std::string& path,
                                                            const std::string& public_key) {
  try {
    return std::make_unique<AtenHandle>(load(path, {public_key}));
  } catch (const PackageError& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace torchdyn
