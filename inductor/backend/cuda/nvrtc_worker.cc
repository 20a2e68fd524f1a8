#include "inductor/backend/cuda/nvrtc_worker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <dlfcn.h>

#include "inductor/backend/cuda/nvrtc.h"
#include "inductor/backend/process.h"

namespace inductor {
namespace {

constexpr int kMostHere = 4;
constexpr std::chrono::minutes kTimeout{5};

class Turn {
 public:
  explicit Turn(std::atomic<int>& count) : count_(count), place_(count++) {}
  ~Turn() { --count_; }
  bool is_among(int most) const { return place_ < most; }

 private:
  std::atomic<int>& count_;
  const int place_;
};

// Beside what holds this code (the Python package), or in bin beside its folder (lib).
std::string find_worker() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&find_worker), &info) || !info.dli_fname) return "";
  std::error_code ignored;
  const auto folder = std::filesystem::canonical(info.dli_fname, ignored).parent_path();
  for (const auto& place : {folder / "torchdyn_nvrtc", folder / "../bin/torchdyn_nvrtc"})
    if (std::filesystem::is_regular_file(place, ignored)) return place.string();
  return "";
}

}  // namespace

std::string nvrtc_worker() {
  static const std::string& found = *new std::string(find_worker());
  return found;
}

int most_cubins_at_once() {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return nvrtc_worker().empty() ? std::min(cores, kMostHere) : cores;
}

bool compile_cubin_by(const std::string& worker, const std::string& nvrtc, int capability,
                      const BuildFiles& files) {
  const auto exit_code = run_process(
      {worker, nvrtc, std::to_string(capability), files.source, files.binary, files.log},
      "/dev/null", kTimeout);
  return exit_code.ok() && *exit_code == 0;
}

absl::Status compile_cubin_anywhere(const std::string& nvrtc, int capability,
                                    const BuildFiles& files) {
  static std::atomic<int> here{0};
  {
    const Turn turn(here);
    if (turn.is_among(kMostHere)) return compile_cubin(nvrtc, capability, files);
  }
  const std::string worker = nvrtc_worker();
  if (!worker.empty() && compile_cubin_by(worker, nvrtc, capability, files))
    return absl::OkStatus();
  return compile_cubin(nvrtc, capability, files);
}

}  // namespace inductor
