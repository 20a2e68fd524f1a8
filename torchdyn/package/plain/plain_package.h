// A package that runs without LibTorch: inference, on the CPU, without extern calls.
//   auto package = PlainPackage::load("model.td");
//   absl::StatusOr<std::vector<PlainTensor>> results = (*package)->call({{type, data}});
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "torchdyn/package/plain/package_file.h"
#include "torchdyn/package/plain/plain_tensor.h"

namespace torchdyn {

class PlainPackage {
 public:
  // Unimplemented, naming the operators, where no variant runs without LibTorch.
  // `public_key` as of PackageFile::open.
  static absl::StatusOr<std::shared_ptr<const PlainPackage>> load(const std::string& path,
                                                                  std::string_view public_key = {});

  const PackageFile& file() const { return *file_; }
  // InvalidArgument, naming the input, where no variant takes the arguments; OutOfRange where eager
  // raises for their values. Results own their memory; one that is an input, or a view of one, is a
  // copy. Any number of threads may call; calls that change weights wait for each other.
  absl::StatusOr<std::vector<PlainTensor>> call(std::span<const PlainTensor> arguments,
                                                std::string_view method = kMainMethod) const;

 private:
  struct Variant {
    const PackagedMethod* method = nullptr;
    const PackagedVariant* described = nullptr;
    const inductor::KernelPlan* plan = nullptr;
    std::vector<inductor::Launcher> launchers;
    std::vector<PlainTensor> weights;  // one an input; empty for arguments
  };
  Variant make_variant(const PackagedMethod& method, const PackagedVariant& v) const;
  using Sizes = std::vector<int64_t>;  // values of s0, s1, ...
  // The plan itself, or bound to sizes, once.
  std::shared_ptr<const inductor::KernelPlan> plan_at(const Variant& variant,
                                                      const Sizes& sizes) const;
  absl::StatusOr<std::vector<PlainTensor>> run(const Variant& variant, const Sizes& sizes,
                                               std::vector<PlainTensor> inputs) const;

  std::shared_ptr<const PackageFile> file_;
  std::vector<Variant> variants_;
  mutable std::mutex writing_, binding_;
  mutable std::map<const PackagedVariant*,
                   std::map<Sizes, std::shared_ptr<const inductor::KernelPlan>>>
      bound_;  // under binding_
};

}  // namespace torchdyn
