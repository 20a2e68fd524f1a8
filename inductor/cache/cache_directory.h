// A directory of built files, addressed by digests and shared by processes.
//   CacheDirectory directory(default_cache_path(), default_cache_limit());
//   if (auto name = directory.find(key); name && directory.check(*name))
//   load(directory.file(*name)); auto files = directory.stage(unit, ".cc", text, ".so");    //
//   unique names
//   ... build files->binary ...
//   directory.publish(*files, unit, keys);                     // rename(2): whole, or not there
//
// In it: UNIT.so (sealed: its digest stands at its end), UNIT.cc beside it, UNIT.log of a
// build that failed, and one symbolic link a kernel, named by the kernel's key, to the file that
// contains it.
//
// Law
//  - A file under a final name is complete; whoever is killed leaves at most a staged name, which
//    is removed after an hour.
//  - What check() accepts has the bytes that were published.
//  - Beyond the limit the files that were not used for longest go first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/backend/device_backend.h"

namespace inductor {

// TORCHDYN_CACHE_DIR, else kernels/ in torchdyn's folder of the user's cache directory.
std::string default_cache_path();
// TORCHDYN_CACHE_LIMIT_MB, else 2048 MiB; in bytes.
int64_t default_cache_limit();

class CacheDirectory {
 public:
  CacheDirectory(std::string path, int64_t limit_bytes);

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;

  // The name of the file that contains the kernel.
  std::optional<std::string> find(std::string_view key) const;
  // Whether that file is whole; marks it as used now, or removes it.
  bool check(std::string_view name) const;
  // Forgets a file that turned out not to load.
  void remove(std::string_view name) const;

  // Makes the directory and the source; what cannot be written is told by the status.
  absl::StatusOr<BuildFiles> stage(std::string_view unit, std::string_view source_suffix,
                                   std::string_view text, std::string_view binary_suffix) const;
  // Seals the binary and gives it, its source and its kernels' links their final names; returns the
  // file's name.
  absl::StatusOr<std::string> publish(const BuildFiles& files, std::string_view unit,
                                      std::span<const std::string> keys) const;
  // Keeps source and log of a failed build under final names; returns the log's path.
  std::string keep_log(const BuildFiles& files, std::string_view unit) const;
  // Down to nine tenths of the limit, when it is exceeded.
  void evict() const;
  // Whether a megabyte can be written: tells a full or read-only disk from a compiler that fails.
  bool writable() const;

 private:
  std::string path_;
  int64_t limit_;
};

}  // namespace inductor
