#include "inductor/backend/cuda/cuda_target.h"

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace inductor {

std::optional<CudaTarget> parse_cuda_target(std::string_view text) {
  absl::string_view digits(text.data(), text.size());
  CudaTarget target;
  target.is_ptx = absl::ConsumePrefix(&digits, "compute_");
  if (!target.is_ptx && !absl::ConsumePrefix(&digits, "sm_")) return std::nullopt;
  if (!absl::SimpleAtoi(digits, &target.capability)) return std::nullopt;
  return target;
}

bool runs_on(const CudaTarget& target, int capability) {
  const bool same_major = target.capability / 10 == capability / 10;
  return target.capability <= capability && (same_major || target.is_ptx);
}

}  // namespace inductor
