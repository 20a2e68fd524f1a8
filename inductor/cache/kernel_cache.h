// Kernels by content: loaded code where there is some, else a file of the cache directory, else a
// build.
//   auto launchers = KernelCache::of_process().get(*backend, kernels);    // one a kernel, in order
//
// Law
//  - A kernel's key is a digest of its text, the preamble and the backend's identity: equal kernels
//    of a forward, its backward, other graphs and earlier processes are built once.
//  - What is missing is built at once: few translation units, in parallel (build.h).
//  - Any number of threads and processes; a kernel that another thread is building is waited for.
//  - Code stays loaded as long as a launcher of it lives.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "aten_bridge/base/hash_map.h"
#include "inductor/backend/device_backend.h"
#include "inductor/cache/cache_directory.h"

namespace inductor {

struct CacheCounts {
  int loaded_already = 0, from_disk = 0, built = 0, units = 0;
};

struct Rejection {
  EmittedKernel kernel;
  absl::Status status;
  std::string log;  // the compiler's words
};

class KernelCache {
 public:
  explicit KernelCache(CacheDirectory directory) : directory_(std::move(directory)) {}
  // Over default_cache_path(), as it is now.
  static std::shared_ptr<KernelCache> of_process();

  // A kernel that the compiler rejects while it builds others has an empty launcher and is listed
  // in `rejected`; where that is null, it is the status.
  absl::StatusOr<std::vector<Launcher>> get(const DeviceBackend& backend,
                                            std::span<const EmittedKernel* const> kernels,
                                            CacheCounts* counts = nullptr,
                                            std::vector<Rejection>* rejected = nullptr);

 private:
  struct Wanted;
  struct Entry {
    bool pending = false;  // some thread is finding or building it
    Launcher launcher;     // without library
    std::weak_ptr<const void> library;
  };

  void claim(std::vector<Wanted>& wanted, CacheCounts& counts);
  void load_from_disk(const DeviceBackend& backend, std::vector<Wanted*>& missing,
                      CacheCounts& counts);
  absl::Status build(const DeviceBackend& backend, std::span<Wanted* const> missing,
                     CacheCounts& counts);
  void settle(std::span<Wanted> wanted);

  const CacheDirectory directory_;
  std::mutex mutex_;
  std::condition_variable settled_;
  aten_bridge::HashMap<std::string, Entry> entries_;
};

}  // namespace inductor
