#include "bench/gpt/first_steps.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/gpt/memory_meter.h"
#include "torchdyn/compile.h"

namespace gpt {
namespace {

constexpr int kSteps = 4;

// The monotonic clock is one for all processes of a machine.
int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Starts a program whose standard output is the returned file descriptor.
int spawn(const char* program, const std::vector<std::string>& arguments, pid_t* child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::vector<char*> argv{const_cast<char*>(program)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = posix_spawn(child, program, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    throw std::system_error(error, std::generic_category(), program);
  }
  return ends[0];
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  ssize_t count;
  while ((count = read(descriptor, buffer, sizeof buffer)) > 0) text.append(buffer, count);
  close(descriptor);
  return text;
}

}  // namespace

FirstSteps first_steps_in_fresh_process(Options options, const std::string& kind) {
  options.first_steps_of = kind;
  options.spawned_at_ns = now_ns();
  pid_t child = 0;
  const std::string output = read_all(spawn("/proc/self/exe", format_options(options), &child));
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the process that measures first steps failed");
  return nlohmann::json::parse(output).get<FirstSteps>();
}

FirstSteps first_steps(const Training& training, const Options& options) {
  FirstSteps result;
  result.start_up_s = static_cast<double>(now_ns() - options.spawned_at_ns) * 1e-9;
  const MemoryMeter meter(training.device);
  const auto compiled = torchdyn::compile(next_token_loss);
  LossFunction loss = next_token_loss;
  if (options.first_steps_of == "compiled") loss = compiled;

  Trainer trainer(training, loss);
  for (int i = 0; i < kSteps; ++i) trainer.step();
  result.first_s = trainer.steps().front().ms * 1e-3;
  for (const auto& variant : torchdyn::explain(compiled).variants) {
    result.capture_s += variant.capture_ms * 1e-3;
    result.compile_s += variant.compile_ms * 1e-3;
  }
  result.peak_mb = static_cast<double>(meter.peak_bytes()) * 1e-6;
  result.peak_resident_mb = static_cast<double>(peak_resident_bytes()) * 1e-6;
  return result;
}

FreshKernelCache::FreshKernelCache() {
  std::string pattern = std::filesystem::temp_directory_path() / "torchdyn-demo-XXXXXX";
  if (!mkdtemp(pattern.data()))
    throw std::system_error(errno, std::generic_category(), "cannot make a folder " + pattern);
  folder_ = pattern;
  setenv("TORCHDYN_CACHE_DIR", folder_.c_str(), /*overwrite=*/1);
}

FreshKernelCache::~FreshKernelCache() {
  std::error_code ignored;  // A folder left over in /tmp is no reason to fail.
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace gpt
