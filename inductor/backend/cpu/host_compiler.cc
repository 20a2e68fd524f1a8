#include "inductor/backend/cpu/host_compiler.h"

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "inductor/backend/file_stamp.h"
#include "inductor/backend/process.h"

namespace inductor {
namespace {

// What each is for:
const char* const kFlags[] = {
    "-std=c++20",
    "-O2",  // kernels are vectors already: -O3 makes none of them faster, but takes a third longer
    "-ffp-contract=off",   // a * b + c rounds twice, as ATen does
    "-fno-math-errno",     // no errno: sqrt and its like are instructions
    "-fno-trapping-math",  // nobody reads the exception flags: selects become blends
    "-fwrapv",             // integers wrap
    "-fno-exceptions",     // the rest makes the compiler and the linker quick
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-w",
    "-pipe",
    "-shared",
    "-fPIC",
    "-nostdlib",
    // Sleef's functions are those of the libtorch_cpu that is in the process, for itself alone or
    // for all (Python loads it for itself). Where there is none, kernels that need none load.
    "-Wl,--auxiliary=libtorch_cpu.so",
};

const char* const kTried[] = {"g++", "c++", "clang++"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_program(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_on_path(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return is_program(program) ? std::optional(program) : std::nullopt;
  const std::vector<std::string> folders = absl::StrSplit(variable("PATH"), ':', absl::SkipEmpty());
  for (const std::string& folder : folders)
    if (std::string path = folder + "/" + program; is_program(path)) return path;
  return std::nullopt;
}

// What -march=native looks at: the first processor's model and features.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  file.exceptions(std::ios::badbit);  // a part of it is another processor's
  std::string text, line;
  while (std::getline(file, line) && !line.empty())
    for (const char* key :
         {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features"})
      if (line.rfind(key, 0) == 0) absl::StrAppend(&text, line, "\n");
  return text;
}

absl::StatusOr<HostCompiler> discover(const std::string& wish) {
  HostCompiler compiler;
  if (!wish.empty()) {
    compiler.command = std::vector<std::string>(absl::StrSplit(wish, ' ', absl::SkipEmpty()));
    if (compiler.command.empty() || !find_on_path(compiler.command[0]))
      return absl::NotFoundError(absl::StrCat("the host compiler '", wish,
                                              "' (from TORCHDYN_CXX or CXX) is not a program"));
  } else {
    for (const char* name : kTried)
      if (compiler.command.empty() && find_on_path(name)) compiler.command = {name};
    if (compiler.command.empty())
      return absl::NotFoundError(absl::StrCat("no host compiler: none of ",
                                              absl::StrJoin(kTried, ", "),
                                              " is on PATH; install one or set TORCHDYN_CXX"));
  }
  for (std::string& word : compiler.command) {
    absl::StrAppend(&compiler.identity, word, "\n");
    if (auto path = find_on_path(word))
      absl::StrAppend(&compiler.identity, file_stamp(*path), "\n");
  }
  compiler.command[0] = *find_on_path(compiler.command[0]);
  absl::StrAppend(&compiler.identity, absl::StrJoin(kFlags, " "), "\n", processor());
  return compiler;
}

}  // namespace

absl::StatusOr<HostCompiler> host_compiler() {
  static std::mutex mutex;
  static auto& known_for = *new std::string;
  static auto& known = *new absl::StatusOr<HostCompiler>(absl::NotFoundError("not looked for yet"));
  std::string wish = variable("TORCHDYN_CXX");
  if (wish.empty()) wish = variable("CXX");
  const std::string key = absl::StrCat(wish, "\n", variable("PATH"));
  std::lock_guard lock(mutex);
  if (key != known_for || !known.ok()) {
    known = discover(wish);
    known_for = key;
  }
  return known;
}

absl::Status compile_shared_object(const HostCompiler& compiler, const BuildFiles& files,
                                   const std::vector<std::string>& machine,
                                   std::chrono::milliseconds timeout) {
  std::vector<std::string> argv = compiler.command;
  argv.insert(argv.end(), machine.begin(), machine.end());
  argv.insert(argv.end(), std::begin(kFlags), std::end(kFlags));
  argv.insert(argv.end(), {"-x", "c++", files.source, "-x", "none", "-o", files.binary, "-lgcc"});
  auto code = run_process(argv, files.log, timeout);
  if (!code.ok()) return code.status();
  if (*code == 0 && access(files.binary.c_str(), R_OK) == 0) return absl::OkStatus();
  const std::string message = absl::StrCat(
      "the host compiler ", absl::StrJoin(compiler.command, " "), " failed with exit code ", *code);
  const bool rejected = *code > 0 && *code < 128;  // not ended by a signal
  return rejected ? absl::InvalidArgumentError(message) : absl::UnavailableError(message);
}

}  // namespace inductor
