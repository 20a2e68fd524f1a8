#include "inductor/backend/packaged_kernels.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "inductor/backend/cpu/processor.h"
#include "inductor/backend/cpu/shared_object.h"
#include "inductor/backend/cuda/cubin.h"
#include "inductor/backend/cuda/driver.h"

namespace inductor {
namespace {

absl::Status is_not_here(std::string_view target) {
  return absl::FailedPreconditionError(absl::StrCat("its kernels are for ",
                                                    absl::string_view(target.data(), target.size()),
                                                    ", which this machine is not"));
}

// A cubin runs on its own architecture and on later ones of the same major number.
absl::StatusOr<std::vector<Launcher>> load_cubin_for(int capability, std::string_view target,
                                                     int device, std::string_view binary,
                                                     std::span<const std::string> kernels) {
  auto driver = cuda_driver();
  if (!driver.ok()) return driver.status();
  auto here = (*driver)->compute_capability(device);
  if (!here.ok()) return here.status();
  if (*here / 10 != capability / 10 || *here < capability) return is_not_here(target);
  return load_cubin_bytes(**driver, std::string(binary), "a package", kernels);
}

}  // namespace

absl::StatusOr<std::vector<Launcher>> load_packaged_kernels(std::string_view target, int device,
                                                            std::string_view binary,
                                                            std::span<const std::string> kernels) {
  absl::string_view architecture(target.data(), target.size());
  int capability = 0;
  if (absl::ConsumePrefix(&architecture, "sm_") && absl::SimpleAtoi(architecture, &capability))
    return load_cubin_for(capability, target, device, binary, kernels);
  if (!runs_here(target)) return is_not_here(target);
  return load_shared_object_bytes(binary, kernels);
}

}  // namespace inductor
