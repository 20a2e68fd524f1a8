// A new empty directory; removed with its contents.
//   ScratchDirectory folder;  std::ofstream(folder.path() + "/a.txt");
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace inductor {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "torchdyn-test-XXXXXX").string();
    if (!mkdtemp(path_.data())) std::abort();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  // Names of the files that end so.
  std::vector<std::string> files(std::string_view suffix) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.size() >= suffix.size() && name.substr(name.size() - suffix.size()) == suffix)
        found.push_back(entry.path().string());
    }
    return found;
  }

 private:
  std::string path_;
};

}  // namespace inductor
