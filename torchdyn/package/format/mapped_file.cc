#include "torchdyn/package/format/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

absl::Status failure(const std::string& path) {
  const int error = errno;
  const std::string message =
      aten_bridge::str_cat("cannot open ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(path);
  struct stat info {};
  void* data = MAP_FAILED;
  size_t size = 0;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    size = static_cast<size_t>(info.st_size);
    data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  } else if (errno == 0 || !S_ISREG(info.st_mode)) {
    errno = EINVAL;
  }
  const absl::Status status = data == MAP_FAILED ? failure(path) : absl::OkStatus();
  ::close(fd);
  if (!status.ok()) return status;
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<char*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
}

}  // namespace torchdyn
