#include "inductor/backend/cuda/nvrtc.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "inductor/backend/file_stamp.h"
#include "inductor/backend/loaded_library.h"

namespace inductor {
namespace {

// What each is for:
const char* const kFlags[] = {
    "-std=c++20",
    "-fmad=false",  // a * b + c rounds twice, as written
    "-w",
};

// What the loader is asked for where no LibTorch is loaded, newest first.
const char* const kSonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

constexpr int kRejected = 6;  // NVRTC_ERROR_COMPILATION

// "libnvrtc.so.13" of the wheel, "libnvrtc-1ea278b5.so.12" of an archive; .alt. is the same
// compiler for other hosts.
bool is_nvrtc(std::string_view name) {
  return (name.starts_with("libnvrtc.so") || name.starts_with("libnvrtc-")) &&
         !name.starts_with("libnvrtc-builtins") && name.find(".so") != name.npos;
}
bool is_builtins(std::string_view name) {
  return name.starts_with("libnvrtc-builtins") && name.find(".alt.") == name.npos;
}
bool is_libtorch(std::string_view name) { return name.starts_with("libtorch_cpu.so"); }

// The last of a folder's files that are accepted, by name; empty when there is none.
std::string last_file(const std::filesystem::path& folder, bool (*accept)(std::string_view)) {
  std::string found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (accept(entry.path().filename().string())) found = std::max(found, entry.path().string());
  return found;
}

struct Functions {
  int (*nvrtcGetNumSupportedArchs)(int* count);
  int (*nvrtcGetSupportedArchs)(int* archs);
  const char* (*nvrtcGetErrorString)(int error);
  int (*nvrtcCreateProgram)(void** program, const char* text, const char* name, int header_count,
                            const char* const* headers, const char* const* header_names);
  int (*nvrtcDestroyProgram)(void** program);
  int (*nvrtcCompileProgram)(void* program, int option_count, const char* const* options);
  int (*nvrtcGetProgramLogSize)(void* program, size_t* size);
  int (*nvrtcGetProgramLog)(void* program, char* log);
  int (*nvrtcGetCUBINSize)(void* program, size_t* size);
  int (*nvrtcGetCUBIN)(void* program, char* cubin);
  int (*nvrtcGetPTXSize)(void* program, size_t* size);
  int (*nvrtcGetPTX)(void* program, char* ptx);
};

absl::StatusOr<Functions> load(const std::string& nvrtc) {
  // NVRTC looks for its builtins along the loader's path, where the wheel's are not. One of that
  // name which is loaded already is taken.
  const auto folder = std::filesystem::path(nvrtc).parent_path();
  if (const std::string builtins = last_file(folder, is_builtins); !builtins.empty())
    dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* handle = dlopen(nvrtc.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return absl::NotFoundError(absl::StrCat("cannot load NVRTC: ", dlerror()));
  Functions functions;
  std::string missing;
  const auto resolve = [&](auto& function, const char* name) {
    void* address = dlsym(handle, name);
    if (!address) missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
#define RESOLVE(name) resolve(functions.name, #name)
  RESOLVE(nvrtcGetNumSupportedArchs);
  RESOLVE(nvrtcGetSupportedArchs);
  RESOLVE(nvrtcGetErrorString);
  RESOLVE(nvrtcCreateProgram);
  RESOLVE(nvrtcDestroyProgram);
  RESOLVE(nvrtcCompileProgram);
  RESOLVE(nvrtcGetProgramLogSize);
  RESOLVE(nvrtcGetProgramLog);
  RESOLVE(nvrtcGetCUBINSize);
  RESOLVE(nvrtcGetCUBIN);
  RESOLVE(nvrtcGetPTXSize);
  RESOLVE(nvrtcGetPTX);
#undef RESOLVE
  if (!missing.empty())
    return absl::NotFoundError(absl::StrCat(nvrtc, " is no NVRTC that serves: it lacks ", missing));
  return functions;
}

// Code for a capability runs on all later ones with the same major number.
absl::StatusOr<int> target_for(const Functions& functions, int capability) {
  int count = 0;
  functions.nvrtcGetNumSupportedArchs(&count);
  std::vector<int> known(static_cast<size_t>(std::max(count, 0)));
  if (count > 0) functions.nvrtcGetSupportedArchs(known.data());
  int best = 0;
  for (int arch : known)
    if (arch / 10 == capability / 10 && arch <= capability) best = std::max(best, arch);
  if (best > 0) return best;
  return absl::FailedPreconditionError(absl::StrCat("this NVRTC does not know sm_", capability,
                                                    ", but ", absl::StrJoin(known, ", ")));
}

class Program {
 public:
  Program(const Functions& functions, const std::string& text, const std::string& name)
      : functions_(functions) {
    functions.nvrtcCreateProgram(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  ~Program() { functions_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // `target`: "sm_90", "compute_90".
  int compile(const std::string& target) {
    const std::string arch = absl::StrCat("-arch=", target);
    std::vector<const char*> options(std::begin(kFlags), std::end(kFlags));
    options.push_back(arch.c_str());
    return functions_.nvrtcCompileProgram(program_, static_cast<int>(options.size()),
                                          options.data());
  }
  std::string log() const {
    std::string text = read(functions_.nvrtcGetProgramLogSize, functions_.nvrtcGetProgramLog);
    if (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  std::string cubin() const { return read(functions_.nvrtcGetCUBINSize, functions_.nvrtcGetCUBIN); }
  std::string ptx() const { return read(functions_.nvrtcGetPTXSize, functions_.nvrtcGetPTX); }

 private:
  std::string read(int (*get_size)(void*, size_t*), int (*get)(void*, char*)) const {
    size_t size = 0;
    if (get_size(program_, &size)) return "";
    std::string bytes(size, '\0');
    return get(program_, bytes.data()) ? "" : bytes;
  }

  const Functions& functions_;
  void* program_ = nullptr;
};

absl::Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

// `prefix`: of the target, before its capability; `result` takes what was asked for.
absl::Status compile(const std::string& nvrtc, int capability, const BuildFiles& files,
                     std::string_view prefix, std::string (Program::*result)() const) {
  auto functions = load(nvrtc);
  if (!functions.ok()) return functions.status();
  auto known = target_for(*functions, capability);
  if (!known.ok()) return known.status();
  const std::string target = absl::StrCat(absl::string_view(prefix.data(), prefix.size()), *known);
  std::ifstream source(files.source, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(source), {});
  if (!source) return absl::UnavailableError(absl::StrCat("cannot read ", files.source));

  Program program(*functions, text, files.source);
  const int error = program.compile(target);
  if (absl::Status written = write_file(files.log, program.log()); !written.ok()) return written;
  if (!error) return write_file(files.binary, (program.*result)());
  const std::string message =
      absl::StrCat("NVRTC failed for ", target, " with ", functions->nvrtcGetErrorString(error));
  return error == kRejected ? absl::InvalidArgumentError(message) : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::string> find_nvrtc() {
  if (const char* wish = std::getenv("TORCHDYN_NVRTC"); wish && *wish) {
    if (std::filesystem::is_regular_file(wish)) return wish;
    return absl::NotFoundError(absl::StrCat("TORCHDYN_NVRTC is ", wish, ", which is no file"));
  }
  std::string found = loaded_library(is_nvrtc);
  if (!found.empty()) return found;
  const std::string libtorch = loaded_library(is_libtorch);
  found = nvrtc_beside(libtorch);
  if (!found.empty()) return found;
  for (const char* soname : kSonames)
    if (dlopen(soname, RTLD_NOW | RTLD_LOCAL)) return loaded_library(is_nvrtc);
  return absl::NotFoundError(
      absl::StrCat("no NVRTC: it is neither beside LibTorch (",
                   libtorch.empty() ? "not loaded" : libtorch, ") nor on the loader's path as ",
                   absl::StrJoin(kSonames, ", "), "; set TORCHDYN_NVRTC to the file"));
}

// The archive keeps CUDA's libraries beside its own, the wheel in packages beside torch.
std::string nvrtc_beside(const std::string& libtorch) {
  if (libtorch.empty()) return "";
  const auto folder = std::filesystem::path(libtorch).parent_path();
  std::string found = last_file(folder, is_nvrtc);
  std::error_code ignored;
  for (const auto& package : std::filesystem::directory_iterator(folder / "../../nvidia", ignored))
    if (found.empty()) found = last_file(package.path() / "lib", is_nvrtc);
  return found;
}

std::string nvrtc_identity(const std::string& nvrtc) {
  return absl::StrCat(file_stamp(nvrtc), "\n", absl::StrJoin(kFlags, " "));
}

absl::Status compile_cubin(const std::string& nvrtc, int capability, const BuildFiles& files) {
  return compile(nvrtc, capability, files, "sm_", &Program::cubin);
}

absl::Status compile_ptx(const std::string& nvrtc, int capability, const BuildFiles& files) {
  return compile(nvrtc, capability, files, "compute_", &Program::ptx);
}

}  // namespace inductor
