#include "inductor/backend/cpu/processor.h"

namespace inductor {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kBaseline = "x86-64";
bool has_level_3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
#elif defined(__aarch64__)
constexpr std::string_view kBaseline = "armv8-a";
bool has_level_3() { return false; }
#else
constexpr std::string_view kBaseline = "native";
bool has_level_3() { return false; }
#endif

constexpr std::string_view kLevel3 = "x86-64-v3";

}  // namespace

std::string processor_level() { return std::string(has_level_3() ? kLevel3 : kBaseline); }

bool runs_here(std::string_view level) {
  return level == kBaseline || (level == kLevel3 && has_level_3());
}

}  // namespace inductor
