// NVRTC, but for programs that contain a text: it rejects those.
//   TORCHDYN_NVRTC=lib/libpicky_nvrtc.so  PICKY_NVRTC_OF=.../libnvrtc.so.13
//   PICKY_NVRTC_REJECTS=tanh
// A library for tests, in the place of the NVRTC that PICKY_NVRTC_OF names.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <dlfcn.h>

namespace {

// NVRTC's builtins lie beside it, where the loader does not look.
void* open_nvrtc() {
  const std::filesystem::path path = std::getenv("PICKY_NVRTC_OF");
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libnvrtc-builtins") && name.find(".alt.") == name.npos)
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* find(const char* name) {
  static void* const nvrtc = open_nvrtc();
  return dlsym(nvrtc, name);
}

}  // namespace

#define FORWARD(name, parameters, ...)                                         \
  extern "C" int name parameters {                                             \
    static const auto real = reinterpret_cast<int(*) parameters>(find(#name)); \
    return real(__VA_ARGS__);                                                  \
  }
FORWARD(nvrtcGetNumSupportedArchs, (int* count), count)
FORWARD(nvrtcGetSupportedArchs, (int* archs), archs)
FORWARD(nvrtcDestroyProgram, (void** program), program)
FORWARD(nvrtcCompileProgram, (void* program, int count, const char* const* options), program, count,
        options)
FORWARD(nvrtcGetProgramLogSize, (void* program, size_t* size), program, size)
FORWARD(nvrtcGetProgramLog, (void* program, char* log), program, log)
FORWARD(nvrtcGetPTXSize, (void* program, size_t* size), program, size)
FORWARD(nvrtcGetPTX, (void* program, char* ptx), program, ptx)
FORWARD(nvrtcGetCUBINSize, (void* program, size_t* size), program, size)
FORWARD(nvrtcGetCUBIN, (void* program, char* cubin), program, cubin)

extern "C" const char* nvrtcGetErrorString(int error) {
  return reinterpret_cast<const char* (*)(int)>(find("nvrtcGetErrorString"))(error);
}

extern "C" int nvrtcCreateProgram(void** program, const char* text, const char* name, int count,
                                  const char* const* headers, const char* const* names) {
  const auto real = reinterpret_cast<decltype(&nvrtcCreateProgram)>(find("nvrtcCreateProgram"));
  const char* mark = std::getenv("PICKY_NVRTC_REJECTS");
  std::string given = text;
  if (mark && std::strstr(text, mark)) given += std::string("\n#error it has ") + mark + "\n";
  return real(program, given.c_str(), name, count, headers, names);
}
