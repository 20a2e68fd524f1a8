#include "inductor/backend/cpu/shared_object.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace inductor {
namespace {

using KernelFunction = void (*)(void* const* buffers, const int64_t* sizes,
                                const TdContext* context);

void call_kernel(const void* self, const LaunchArguments& arguments, const TdContext* context) {
  reinterpret_cast<KernelFunction>(const_cast<void*>(self))(arguments.buffers, arguments.sizes,
                                                            context);
}

std::string dl_error() {
  const char* error = dlerror();
  return error ? error : "unknown error";
}

struct Library {
  void* handle = nullptr;
  int fd = -1;  // of memory that it came from; open, since the loader knows it by the number

  ~Library() {
    if (handle) dlclose(handle);
    if (fd >= 0) close(fd);
  }
};

absl::StatusOr<std::vector<Launcher>> load(std::shared_ptr<Library> library,
                                           const std::string& file,
                                           std::span<const std::string> kernels) {
  library->handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle)
    return absl::UnavailableError(absl::StrCat("cannot load a kernel: ", dl_error()));
  std::vector<Launcher> launchers;
  for (const std::string& kernel : kernels) {
    const void* code = dlsym(library->handle, kernel.c_str());
    if (!code) return absl::DataLossError(absl::StrCat(file, " lacks kernel ", kernel));
    launchers.push_back({call_kernel, code, library});
  }
  return launchers;
}

absl::Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError(std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Launcher>> load_shared_object(const std::string& file,
                                                         std::span<const std::string> kernels) {
  return load(std::make_shared<Library>(), file, kernels);
}

absl::StatusOr<std::vector<Launcher>> load_shared_object_bytes(
    std::string_view bytes, std::span<const std::string> kernels) {
  auto library = std::make_shared<Library>();
  library->fd = memfd_create("torchdyn-kernels", MFD_CLOEXEC);
  if (library->fd < 0)
    return absl::UnavailableError(absl::StrCat("no memory for kernels: ", std::strerror(errno)));
  if (absl::Status written = write_all(library->fd, bytes); !written.ok()) return written;
  const std::string file = absl::StrCat("/proc/self/fd/", library->fd);
  return load(std::move(library), file, kernels);
}

}  // namespace inductor
