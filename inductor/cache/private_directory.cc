#include "inductor/cache/private_directory.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace inductor {

absl::StatusOr<PrivateDirectory> PrivateDirectory::make() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error).string();
  if (error) path = "/tmp";
  path += "/torchdyn-XXXXXX";
  if (!mkdtemp(path.data())) return absl::UnavailableError(absl::StrCat("cannot make ", path));
  return PrivateDirectory(std::move(path));
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace inductor
