#include "inductor/backend/packaged_kernels.h"

#include "absl/strings/str_cat.h"

#include "inductor/backend/cpu/processor.h"
#include "inductor/backend/cpu/shared_object.h"
#include "inductor/backend/cuda/cubin.h"
#include "inductor/backend/cuda/cuda_target.h"
#include "inductor/backend/cuda/driver.h"

namespace inductor {
namespace {

absl::Status is_not_here(std::string_view target) {
  return absl::FailedPreconditionError(absl::StrCat("its kernels are for ",
                                                    absl::string_view(target.data(), target.size()),
                                                    ", which this machine is not"));
}

}  // namespace

absl::Status runs_on_this_machine(std::string_view target, int device) {
  const auto gpu = parse_cuda_target(target);
  if (!gpu) return runs_here(target) ? absl::OkStatus() : is_not_here(target);
  auto driver = cuda_driver();
  if (!driver.ok()) return driver.status();
  auto here = (*driver)->compute_capability(device);
  if (!here.ok()) return here.status();
  return runs_on(*gpu, *here) ? absl::OkStatus() : is_not_here(target);
}

absl::StatusOr<std::vector<Launcher>> load_packaged_kernels(std::string_view target,
                                                            std::string_view binary,
                                                            std::span<const std::string> kernels) {
  if (!parse_cuda_target(target)) return load_shared_object_bytes(binary, kernels);
  auto driver = cuda_driver();
  if (!driver.ok()) return driver.status();
  return load_cubin_bytes(**driver, std::string(binary), "a package", kernels);
}

}  // namespace inductor
