// A directory of this process alone; its files go with it (loaded code stays).
//   auto directory = PrivateDirectory::make();
//   CacheDirectory(directory->path(), limit).stage(...);
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace inductor {

class PrivateDirectory {
 public:
  static absl::StatusOr<PrivateDirectory> make();
  ~PrivateDirectory();
  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;

  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }  // the files stay

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace inductor
