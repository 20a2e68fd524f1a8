#include "inductor/backend/file_stamp.h"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace inductor {

std::string file_stamp(const std::string& path) {
  std::error_code ignored;
  const std::string real = std::filesystem::canonical(path, ignored).string();
  struct stat info {};
  stat(path.c_str(), &info);
  std::string start(4096, '\0');
  std::ifstream(path, std::ios::binary)
      .read(start.data(), static_cast<std::streamsize>(start.size()));
  return absl::StrCat(path, " ", real, " ", info.st_size, " ", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec, " ", absl::BytesToHexString(start));
}

}  // namespace inductor
