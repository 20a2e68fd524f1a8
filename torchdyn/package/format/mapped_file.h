// A file in memory, its pages shared with every process that maps it.
//   auto file = MappedFile::open("model.td");
//   std::string_view bytes = (*file)->bytes();
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace torchdyn {

// Pages are private: one that is written in memory (an optimizer's step on a mapped weight) becomes
// this process's own, and the file stays as it is. Who truncates the file meanwhile ends the
// process that reads it (SIGBUS): a new version comes by rename.
class MappedFile {
 public:
  // NotFound and Unavailable, with the system's reason.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(char* data, size_t size) : data_(data), size_(size) {}
  char* const data_;
  const size_t size_;
};

}  // namespace torchdyn
