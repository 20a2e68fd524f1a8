// The C API of torchdyn_runtime: packages that need no LibTorch.
#include "torchdyn/c_api/package_handle.h"
#include "torchdyn/package/plain/plain_package.h"

namespace torchdyn {
namespace {

class PlainHandle final : public PackageHandle {
 public:
  explicit PlainHandle(std::shared_ptr<const PlainPackage> package)
      : package_(std::move(package)), manifest_(package_->file().manifest_text()) {}

  const std::string& manifest() const override { return manifest_; }
  absl::StatusOr<std::vector<PlainTensor>> call(
      const std::string& method, const std::vector<PlainTensor>& inputs) const override {
    return package_->call(inputs, method);
  }
  absl::Status save(const std::string& path) const override { return package_->file().write(path); }
  absl::StatusOr<std::unique_ptr<TrainerHandle>> train(const std::string&) const override {
    return absl::UnimplementedError(
        "training takes LibTorch; link torchdyn in place of its runtime");
  }

 private:
  const std::shared_ptr<const PlainPackage> package_;
  const std::string manifest_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PackageHandle>> open_package(const std::string& path,
                                                            const std::string& public_key) {
  auto package = PlainPackage::load(path, public_key);
  if (!package.ok()) return package.status();
  return std::make_unique<PlainHandle>(*std::move(package));
}

}  // namespace torchdyn
