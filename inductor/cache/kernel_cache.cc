#include "inductor/cache/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/once.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/cache/units.h"

namespace inductor {
namespace {

using aten_bridge::digest;
using aten_bridge::str_cat;

constexpr std::string_view kAbiVersion =
    "1";  // of kernel signatures and of this directory's layout
constexpr int kMostUnits = 4;

// A directory of this process alone; its files go with it (loaded code stays).
struct PrivateDirectory {
  std::string path;
  ~PrivateDirectory() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

absl::StatusOr<std::string> make_private_directory() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error).string();
  if (error) path = "/tmp";
  path += "/torchdyn-XXXXXX";
  if (!mkdtemp(path.data())) return absl::UnavailableError(absl::StrCat("cannot make ", path));
  return path;
}

}  // namespace

struct KernelCache::Wanted {
  const EmittedKernel* kernel = nullptr;
  std::string key;
  std::optional<Launcher> launcher;
  bool claimed = false;
};

std::shared_ptr<KernelCache> KernelCache::of_process() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<KernelCache>> caches;
  const std::string path = default_cache_path();
  std::lock_guard lock(mutex);
  auto& cache = caches[path];
  if (!cache) cache = std::make_shared<KernelCache>(CacheDirectory(path, default_cache_limit()));
  return cache;
}

absl::StatusOr<std::vector<Launcher>> KernelCache::get(
    const DeviceBackend& backend, std::span<const EmittedKernel* const> kernels,
    CacheCounts* counts) {
  if (kernels.empty()) return std::vector<Launcher>{};
  auto identity = backend.identity();
  if (!identity.ok()) return identity.status();
  const std::string common = digest({kAbiVersion, *identity, backend.preamble()});

  std::vector<Wanted> wanted;  // each kernel once
  absl::flat_hash_map<std::string, size_t> place;
  std::vector<size_t> places;
  for (const EmittedKernel* kernel : kernels) {
    std::string key = digest({common, kernel->name, kernel->text});
    auto [found, is_new] = place.try_emplace(key, wanted.size());
    if (is_new) wanted.push_back({kernel, std::move(key), std::nullopt, false});
    places.push_back(found->second);
  }

  CacheCounts own_counts;
  if (!counts) counts = &own_counts;
  const auto missing = [](const Wanted& w) { return !w.launcher; };
  while (std::any_of(wanted.begin(), wanted.end(), missing)) {
    claim(wanted, *counts);
    std::vector<Wanted*> claimed, absent;
    for (Wanted& w : wanted)
      if (w.claimed) claimed.push_back(&w);
    absent = claimed;
    absl::Cleanup settled = [&] { settle(claimed); };
    load_from_disk(backend, absent, *counts);
    if (absl::Status built = build(backend, absent, *counts); !built.ok()) return built;
  }

  std::vector<Launcher> launchers;
  for (size_t i : places) launchers.push_back(*wanted[i].launcher);
  return launchers;
}

// Takes what is loaded and claims what nobody works on; when all the rest is others' work, waits
// for some of it.
void KernelCache::claim(std::vector<Wanted>& wanted, CacheCounts& counts) {
  std::unique_lock lock(mutex_);
  for (;;) {
    bool progress = false;
    for (Wanted& w : wanted) {
      if (w.launcher) continue;
      Entry& entry = entries_[w.key];
      if (auto library = entry.library.lock()) {
        w.launcher = entry.launcher;
        w.launcher->library = std::move(library);
        ++counts.loaded_already;
        progress = true;
      } else if (!entry.pending) {
        entry.pending = w.claimed = progress = true;
      }
    }
    if (progress) return;
    settled_.wait(lock);
  }
}

void KernelCache::settle(std::span<Wanted* const> claimed) {
  {
    std::lock_guard lock(mutex_);
    for (Wanted* w : claimed) {
      Entry& entry = entries_[w->key];
      entry.pending = w->claimed = false;
      if (!w->launcher) continue;
      entry.launcher = *w->launcher;
      entry.launcher.library = nullptr;
      entry.library = w->launcher->library;
    }
  }
  settled_.notify_all();
}

// Loads what the directory has; the rest stays in `missing`.
void KernelCache::load_from_disk(const DeviceBackend& backend, std::vector<Wanted*>& missing,
                                 CacheCounts& counts) {
  std::map<std::string, std::vector<Wanted*>> files;
  for (Wanted* w : missing)
    if (auto file = directory_.find(w->key)) files[*file].push_back(w);
  for (const auto& [file, members] : files) {
    if (!directory_.check(file)) continue;
    std::vector<std::string> names;
    for (const Wanted* w : members) names.push_back(w->kernel->name);
    auto launchers = backend.load(directory_.file(file), names);
    if (!launchers.ok()) {
      directory_.remove(file);
      continue;
    }
    for (size_t i = 0; i < members.size(); ++i) members[i]->launcher = (*launchers)[i];
    counts.from_disk += static_cast<int>(members.size());
  }
  std::erase_if(missing, [](const Wanted* w) { return w->launcher.has_value(); });
}

namespace {

struct Unit {
  Source source;
  std::vector<std::string> keys;
  std::string name;  // a digest
};

// Builds, publishes and loads one unit in a directory.
absl::StatusOr<std::vector<Launcher>> build_unit(const DeviceBackend& backend, const Unit& unit,
                                                 const CacheDirectory& directory) {
  auto files = directory.stage(unit.name, backend.source_suffix(), unit.source.text,
                               backend.binary_suffix());
  if (!files.ok()) return files.status();
  if (absl::Status built = backend.build(*files); !built.ok())
    return absl::Status(built.code(), absl::StrCat(built.message(), "; its words are in ",
                                                   directory.keep_log(*files, unit.name)));
  auto name = directory.publish(*files, unit.name, unit.keys);
  if (!name.ok()) return name.status();
  return backend.load(directory.file(*name), unit.source.kernels);
}

// The same where the directory may refuse: then in a private one.
absl::StatusOr<std::vector<Launcher>> build_anywhere(const DeviceBackend& backend, const Unit& unit,
                                                     const CacheDirectory& directory) try {
  auto launchers = build_unit(backend, unit, directory);
  if (launchers.ok() || directory.writable()) return launchers;
  aten_bridge::say_once(directory.path(),
                        str_cat("kernels are not kept: the cache directory ", directory.path(),
                                " cannot be written; set TORCHDYN_CACHE_DIR to one that can"));
  auto path = make_private_directory();
  if (!path.ok()) return path.status();
  PrivateDirectory keeper{*path};
  launchers = build_unit(backend, unit, CacheDirectory(*path, default_cache_limit()));
  if (!launchers.ok()) keeper.path.clear();  // the log is worth keeping
  return launchers;
} catch (const std::exception& error) {  // a thread must not end by one
  return absl::InternalError(error.what());
}

// In parallel, the last on this thread.
template <class Run>
void for_each_in_parallel(size_t count, const Run& run) {
  std::vector<std::jthread> threads;
  for (size_t i = 0; i + 1 < count; ++i) threads.emplace_back(run, i);
  if (count > 0) run(count - 1);
}

}  // namespace

absl::Status KernelCache::build(const DeviceBackend& backend, std::span<Wanted* const> missing,
                                CacheCounts& counts) {
  if (missing.empty()) return absl::OkStatus();
  std::vector<int64_t> sizes;
  for (const Wanted* w : missing) sizes.push_back(static_cast<int64_t>(w->kernel->text.size()));
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto members = split_units(sizes, std::min(cores, kMostUnits));

  std::vector<Unit> units;
  for (const auto& indices : members) {
    Unit unit;
    std::vector<const EmittedKernel*> kernels;
    for (size_t i : indices) {
      kernels.push_back(missing[i]->kernel);
      unit.keys.push_back(missing[i]->key);
      unit.name = digest({unit.name, missing[i]->key});
    }
    unit.source = backend.assemble(kernels);
    units.push_back(std::move(unit));
  }
  std::vector<absl::StatusOr<std::vector<Launcher>>> results(units.size(),
                                                             absl::InternalError("not built"));
  for_each_in_parallel(
      units.size(), [&](size_t u) { results[u] = build_anywhere(backend, units[u], directory_); });

  absl::Status status;
  for (size_t u = 0; u < units.size(); ++u) {
    if (!results[u].ok()) {
      status.Update(results[u].status());
      continue;
    }
    for (size_t i = 0; i < members[u].size(); ++i)
      missing[members[u][i]]->launcher = (*results[u])[i];
    counts.built += static_cast<int>(members[u].size());
    ++counts.units;
  }
  directory_.evict();
  return status;
}

}  // namespace inductor
