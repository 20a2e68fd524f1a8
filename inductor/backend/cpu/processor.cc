#include "inductor/backend/cpu/processor.h"

namespace inductor {
namespace {

bool always() { return true; }
#if defined(__x86_64__)
bool has_level_3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
bool has_level_4() {
  return has_level_3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

struct Level {
  std::string_view name;
  bool (*is_here)();
};
// The lowest first.
constexpr Level kLevels[] = {
#if defined(__x86_64__)
    {"x86-64", always},
    {"x86-64-v3", has_level_3},
    {"x86-64-v4", has_level_4},
#elif defined(__aarch64__)
    {"armv8-a", always},
#else
    {"native", always},
#endif
};
constexpr std::string_view kHighestOfUse = "x86-64-v3";

}  // namespace

std::string processor_level() {
  std::string_view best;
  for (const Level& level : kLevels) {
    if (level.is_here()) best = level.name;
    if (level.name == kHighestOfUse) break;
  }
  return std::string(best);
}

bool runs_here(std::string_view name) {
  for (const Level& level : kLevels)
    if (level.name == name) return level.is_here();
  return false;
}

bool is_processor_level(std::string_view name) {
  for (const Level& level : kLevels)
    if (level.name == name) return true;
  return false;
}

}  // namespace inductor
