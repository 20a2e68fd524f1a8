#include "inductor/cache/kernel_cache.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/cleanup/cleanup.h"

#include "aten_bridge/base/digest.h"
#include "inductor/cache/build.h"

namespace inductor {
namespace {

using aten_bridge::digest;

constexpr std::string_view kAbiVersion =
    "1";  // of kernel signatures and of this directory's layout

}  // namespace

struct KernelCache::Wanted {
  const EmittedKernel* kernel = nullptr;
  std::string key;
  std::optional<Launcher> launcher;
  std::optional<Rejection> rejection;
  bool claimed = false;

  bool settled() const { return launcher || rejection; }
};

std::shared_ptr<KernelCache> KernelCache::of_process() {
  static std::mutex mutex;
  static auto& caches = *new std::map<std::string, std::shared_ptr<KernelCache>>;
  const std::string path = default_cache_path();
  std::lock_guard lock(mutex);
  auto& cache = caches[path];
  if (!cache) cache = std::make_shared<KernelCache>(CacheDirectory(path, default_cache_limit()));
  return cache;
}

absl::StatusOr<std::vector<Launcher>> KernelCache::get(
    const DeviceBackend& backend, std::span<const EmittedKernel* const> kernels,
    CacheCounts* counts, std::vector<Rejection>* rejected) {
  if (kernels.empty()) return std::vector<Launcher>{};
  auto identity = backend.identity();
  if (!identity.ok()) return identity.status();
  const std::string common = digest({kAbiVersion, *identity, backend.preamble()});

  std::vector<Wanted> wanted;  // each kernel once
  aten_bridge::HashMap<std::string, size_t> place;
  std::vector<size_t> places;
  for (const EmittedKernel* kernel : kernels) {
    std::string key = digest({common, kernel->name, kernel->text});
    auto [found, is_new] = place.try_emplace(key, wanted.size());
    if (is_new) wanted.push_back({kernel, std::move(key)});
    places.push_back(found->second);
  }

  CacheCounts own_counts;
  if (!counts) counts = &own_counts;
  const auto missing = [](const Wanted& w) { return !w.settled(); };
  while (std::any_of(wanted.begin(), wanted.end(), missing)) {
    const absl::Cleanup settled = [&] { settle(wanted); };  // whatever is raised
    claim(wanted, *counts);
    std::vector<Wanted*> absent;
    for (Wanted& w : wanted)
      if (w.claimed) absent.push_back(&w);
    load_from_disk(backend, absent, *counts);
    if (absl::Status built = build(backend, absent, *counts); !built.ok()) return built;
  }

  for (Wanted& w : wanted) {
    if (!w.rejection) continue;
    if (!rejected) return w.rejection->status;
    rejected->push_back(*std::move(w.rejection));
  }
  std::vector<Launcher> launchers;
  for (size_t i : places) launchers.push_back(wanted[i].launcher.value_or(Launcher{}));
  return launchers;
}

// Takes what is loaded and claims what nobody works on; when all the rest is others' work, waits
// for some of it.
void KernelCache::claim(std::vector<Wanted>& wanted, CacheCounts& counts) {
  std::unique_lock lock(mutex_);
  for (;;) {
    bool progress = false;
    for (Wanted& w : wanted) {
      if (w.settled()) continue;
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

// Gives up its claims, with what was loaded for them.
void KernelCache::settle(std::span<Wanted> wanted) {
  {
    std::lock_guard lock(mutex_);
    for (Wanted& w : wanted) {
      if (!w.claimed) continue;
      Entry& entry = entries_.find(w.key)->second;
      entry.pending = w.claimed = false;
      if (!w.launcher) continue;
      entry.launcher = *w.launcher;
      entry.launcher.library = nullptr;
      entry.library = w.launcher->library;
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

absl::Status KernelCache::build(const DeviceBackend& backend, std::span<Wanted* const> missing,
                                CacheCounts& counts) {
  if (missing.empty()) return absl::OkStatus();
  std::vector<KernelToBuild> kernels;
  for (const Wanted* w : missing) kernels.push_back({w->kernel, w->key});
  BuiltKernels built = build_kernels(backend, kernels, directory_);
  counts.units += built.units;
  absl::Status status;
  for (size_t i = 0; i < missing.size(); ++i) {
    const absl::Status& one = built.kernels[i].launcher.status();
    if (one.ok()) {
      missing[i]->launcher = *std::move(built.kernels[i].launcher);
      ++counts.built;
    } else if (absl::IsInvalidArgument(one)) {
      missing[i]->rejection = {*missing[i]->kernel, one, built.kernels[i].log};
    } else {
      status.Update(one);
    }
  }
  directory_.evict();
  return status;
}

}  // namespace inductor
