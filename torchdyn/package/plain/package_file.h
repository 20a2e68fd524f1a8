// A package opened to be run, up to where a tensor library comes in.
//   auto file = PackageFile::open("model.td");
//   const KernelPlan& plan = (*file)->plan(variant, "forward");
//   std::vector<Launcher> launchers = (*file)->launchers(plan);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/runtime/core/kernel_plan.h"
#include "inductor/runtime/core/launcher.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {

// Immutable. What it gives points into the mapped file and lives as long as this.
class PackageFile {
 public:
  // Compares the digests of what is parsed and executed, not the weights'; loads the kernels;
  // checks that each plan keeps its law and has the manifest's inputs, and each weight its type.
  // Of the kernels' targets the first that this machine is; FailedPrecondition where it is none.
  // With a public key (format/ed25519.h) it must be signed, and every digest is compared.
  static absl::StatusOr<std::shared_ptr<const PackageFile>> open(const std::string& path,
                                                                 std::string_view public_key = {});

  const Manifest& manifest() const { return manifest_; }
  // Of all methods.
  std::vector<const PackagedVariant*> variants() const;
  const std::string& target() const { return target_; }  // whose kernels were loaded; may be empty
  std::string_view manifest_text() const { return manifest_text_; }
  const inductor::KernelPlan& plan(const PackagedVariant& v, std::string_view graph) const {
    return plans_.at(section_name(v, graph, "plan"));
  }
  // One a Launch step, in order.
  std::vector<inductor::Launcher> launchers(const inductor::KernelPlan& plan) const;
  // The bytes of a weight, in the layout of its type.
  std::string_view weight(const std::string& name) const { return weights_.at(name).bytes; }
  // What the optimizer keeps beside the weights: "exp_avg/fc.weight", "step", "lr".
  const std::map<std::string, StoredTensor>& optimizer_state() const { return optimizer_state_; }
  absl::StatusOr<std::string_view> section(std::string_view name) const {
    return container_.checked_bytes(name);
  }
  // The same package, with weights as they are in memory now.
  absl::Status write(const std::string& path) const;

 private:
  PackageFile() = default;
  absl::Status read();
  absl::Status read_plan(const PackagedVariant& v, std::string_view graph);
  absl::Status read_weights();
  absl::Status read_optimizer_state();
  absl::Status load_kernels();
  absl::Status load_kernels_for(const std::string& target, const std::vector<std::string>& names);

  std::shared_ptr<const MappedFile> file_;
  Container container_;
  std::string_view manifest_text_;
  Manifest manifest_;
  std::string target_;
  std::map<std::string, inductor::KernelPlan> plans_;  // by section
  std::map<std::string, StoredTensor> weights_;        // by name
  std::map<std::string, StoredTensor> optimizer_state_;
  std::map<std::string, inductor::Launcher> kernels_;  // by name
};

}  // namespace torchdyn
