#include "inductor/cache/build.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/once.h"
#include "aten_bridge/base/parallel.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/cache/private_directory.h"
#include "inductor/cache/units.h"

namespace inductor {
namespace {

using aten_bridge::digest;
using aten_bridge::for_each_in_parallel;
using aten_bridge::str_cat;

bool is_rejection(const absl::Status& status) { return absl::IsInvalidArgument(status); }

using Members = std::vector<size_t>;  // kernels of one unit, by index

class Build {
 public:
  Build(const DeviceBackend& backend, std::span<const KernelToBuild> kernels,
        const CacheDirectory& directory)
      : backend_(backend), kernels_(kernels), directory_(directory) {
    results_.resize(kernels.size(), {absl::InternalError("not built"), ""});
  }

  BuiltKernels run() {
    std::vector<Members> units = split();
    std::vector<absl::Status> statuses(units.size());
    for_each_in_parallel(units.size(), [&](size_t u) { statuses[u] = build(units[u]); });
    std::vector<Members> rejected;
    for (size_t u = 0; u < units.size(); ++u)
      if (is_rejection(statuses[u])) rejected.push_back(std::move(units[u]));
    if (!rejected.empty()) {
      if (builds_the_preamble())
        for_each_in_parallel(rejected.size(), [&](size_t u) { isolate(rejected[u]); });
      else
        blame_the_compiler();
    }
    return {std::move(results_), units_};
  }

 private:
  std::vector<Members> split() const {
    std::vector<int64_t> sizes;
    for (const KernelToBuild& k : kernels_)
      sizes.push_back(static_cast<int64_t>(k.kernel->text.size()));
    return split_units(sizes, backend_.most_at_once());
  }

  // Builds one unit and sets its members' results.
  absl::Status build(const Members& members) {
    std::string log;
    auto launchers = build_anywhere(members, log);
    if (launchers.ok()) ++units_;
    for (size_t i = 0; i < members.size(); ++i) {
      BuiltKernel& result = results_[members[i]];
      if (launchers.ok())
        result.launcher = (*launchers)[i];
      else
        result = {launchers.status(), log};
    }
    return launchers.status();
  }

  // Of a unit that was rejected. A kernel alone is built once more: a compiler rejects a text where
  // memory is short, too.
  void isolate(const Members& members) {
    if (members.size() == 1) {
      build(members).IgnoreError();
      return;
    }
    const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
    for (const Members& half : {Members(members.begin(), middle), Members(middle, members.end())})
      if (is_rejection(build(half))) isolate(half);
  }

  bool builds_the_preamble() const {
    const auto directory = PrivateDirectory::make();
    if (!directory.ok()) return false;
    auto files = CacheDirectory(directory->path(), default_cache_limit())
                     .stage("preamble", backend_.source_suffix(), backend_.preamble(),
                            backend_.binary_suffix());
    return files.ok() && backend_.build(*files).ok();
  }

  void blame_the_compiler() {
    for (BuiltKernel& result : results_)
      if (is_rejection(result.launcher.status()))
        result.launcher = absl::UnavailableError(result.launcher.status().message());
  }

  absl::StatusOr<std::vector<Launcher>> build_in(const CacheDirectory& directory,
                                                 const Members& members, std::string& log) const {
    std::vector<const EmittedKernel*> kernels;
    std::vector<std::string> keys;
    std::string unit;
    for (size_t i : members) {
      kernels.push_back(kernels_[i].kernel);
      keys.push_back(kernels_[i].key);
      unit = digest({unit, kernels_[i].key});
    }
    const Source source = backend_.assemble(kernels);
    auto files =
        directory.stage(unit, backend_.source_suffix(), source.text, backend_.binary_suffix());
    if (!files.ok()) return files.status();
    if (absl::Status built = backend_.build(*files); !built.ok()) {
      log = directory.keep_log(*files, unit);
      return absl::Status(built.code(), absl::StrCat(built.message(), "; its words are in ", log));
    }
    auto name = directory.publish(*files, unit, keys);
    if (!name.ok()) return name.status();
    return backend_.load(directory.file(*name), source.kernels);
  }

  // The same where the directory may refuse: then in a private one.
  absl::StatusOr<std::vector<Launcher>> build_anywhere(const Members& members,
                                                       std::string& log) const {
    auto launchers = build_in(directory_, members, log);
    if (launchers.ok() || directory_.writable()) return launchers;
    aten_bridge::say_once(directory_.path(),
                          str_cat("kernels are not kept: the cache directory ", directory_.path(),
                                  " cannot be written; set TORCHDYN_CACHE_DIR to one that can"));
    auto directory = PrivateDirectory::make();
    if (!directory.ok()) return directory.status();
    launchers = build_in(CacheDirectory(directory->path(), default_cache_limit()), members, log);
    if (!launchers.ok()) directory->keep();  // the log is worth keeping
    return launchers;
  }

  const DeviceBackend& backend_;
  const std::span<const KernelToBuild> kernels_;
  const CacheDirectory& directory_;
  std::vector<BuiltKernel> results_;
  std::atomic<int> units_{0};
};

}  // namespace

BuiltKernels build_kernels(const DeviceBackend& backend, std::span<const KernelToBuild> kernels,
                           const CacheDirectory& directory) {
  return Build(backend, kernels, directory).run();
}

}  // namespace inductor
