#include "inductor/cache/cache_directory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "aten_bridge/base/str_cat.h"
#include "inductor/cache/seal.h"

namespace inductor {
namespace {

namespace fs = std::filesystem;
using aten_bridge::str_cat;

constexpr std::string_view kStaged = ".staged-";
constexpr auto kStagedLife = std::chrono::hours(1);

absl::Status failed(std::string_view what, const std::string& path) {
  return absl::UnavailableError(str_cat(what, " ", path, ": ", std::strerror(errno)));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string unique_name() {
  static const uint64_t process = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  static std::atomic<uint64_t> next{0};
  return absl::StrCat(absl::Hex(process), "-", getpid(), "-", next++);
}

absl::Status write_file(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed("cannot write", path);
  absl::Status status;
  while (!text.empty() && status.ok()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n > 0)
      text.remove_prefix(static_cast<size_t>(n));
    else if (n == 0 || errno != EINTR)
      status = failed("cannot write", path);
  }
  if (close(fd) != 0 && status.ok()) status = failed("cannot write", path);
  return status;
}

std::string_view stem(std::string_view name) { return name.substr(0, name.rfind('.')); }

// A link is named by a digest, a file by a digest and a suffix. The directory may hold others'
// files too.
bool is_ours(std::string_view name) {
  constexpr size_t kDigits = 32;
  return name.find_first_not_of("0123456789abcdef") ==
             (name.size() > kDigits ? kDigits : name.npos) &&
         name.size() >= kDigits && (name.size() == kDigits || name[kDigits] == '.');
}

// What stands or falls together: a binary, its source, its log and its kernels' links.
struct Group {
  std::vector<fs::path> files;
  int64_t bytes = 0;
  fs::file_time_type used = fs::file_time_type::min();
};

std::string group_of(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_symlink(ignored))
    return std::string(stem(fs::read_symlink(entry, ignored).string()));
  return std::string(stem(entry.path().filename().string()));
}

}  // namespace

std::string default_cache_path() {
  if (std::string path = variable("TORCHDYN_CACHE_DIR"); !path.empty()) return path;
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/torchdyn/kernels";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/torchdyn/kernels";
  return absl::StrCat("/tmp/torchdyn-", getuid(), "/kernels");
}

int64_t default_cache_limit() {
  int64_t megabytes = 2048;
  const std::string text = variable("TORCHDYN_CACHE_LIMIT_MB");
  std::from_chars(text.data(), text.data() + text.size(), megabytes);
  return megabytes * 1024 * 1024;
}

CacheDirectory::CacheDirectory(std::string path, int64_t limit_bytes)
    : path_(std::move(path)), limit_(limit_bytes) {}

std::string CacheDirectory::file(std::string_view name) const { return str_cat(path_, "/", name); }

std::optional<std::string> CacheDirectory::find(std::string_view key) const {
  char target[256];
  const ssize_t length = readlink(file(key).c_str(), target, sizeof(target));
  if (length <= 0 || length == sizeof(target)) return std::nullopt;
  std::string name(target, static_cast<size_t>(length));
  if (name.find('/') != name.npos) return std::nullopt;
  return name;
}

bool CacheDirectory::check(std::string_view name) const {
  const std::optional<bool> holds = seal_holds(file(name));
  if (holds == false) remove(name);
  if (!holds.value_or(false)) return false;
  utimensat(AT_FDCWD, file(name).c_str(), nullptr, 0);
  return true;
}

void CacheDirectory::remove(std::string_view name) const { unlink(file(name).c_str()); }

absl::StatusOr<BuildFiles> CacheDirectory::stage(std::string_view unit,
                                                 std::string_view source_suffix,
                                                 std::string_view text,
                                                 std::string_view binary_suffix) const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) return absl::UnavailableError(str_cat("cannot make ", path_, ": ", error.message()));
  const std::string base = file(str_cat(kStaged, unique_name(), "-", unit));
  BuildFiles files{str_cat(base, source_suffix), str_cat(base, binary_suffix), base + ".log"};
  if (auto status = write_file(files.source, text); !status.ok()) {
    unlink(files.source.c_str());
    return status;
  }
  return files;
}

absl::StatusOr<std::string> CacheDirectory::publish(const BuildFiles& files, std::string_view unit,
                                                    std::span<const std::string> keys) const {
  unlink(files.log.c_str());
  const std::string name = str_cat(unit, fs::path(files.binary).extension().string());
  const std::string source = file(str_cat(unit, fs::path(files.source).extension().string()));
  absl::Status status = seal(files.binary);
  if (status.ok() && rename(files.binary.c_str(), file(name).c_str()) != 0)
    status = failed("cannot publish", file(name));
  if (!status.ok()) {
    unlink(files.binary.c_str());
    unlink(files.source.c_str());
    return status;
  }
  rename(files.source.c_str(), source.c_str());
  // The links last: a link leads to a file that is there.
  for (const std::string& key : keys) {
    const std::string staged = file(str_cat(kStaged, unique_name()));
    if (symlink(name.c_str(), staged.c_str()) != 0 ||
        rename(staged.c_str(), file(key).c_str()) != 0) {
      unlink(staged.c_str());
      return failed("cannot publish", file(key));
    }
  }
  return name;
}

std::string CacheDirectory::keep_log(const BuildFiles& files, std::string_view unit) const {
  const std::string log = file(str_cat(unit, ".log"));
  rename(files.log.c_str(), log.c_str());
  rename(files.source.c_str(),
         file(str_cat(unit, fs::path(files.source).extension().string())).c_str());
  unlink(files.binary.c_str());
  return log;
}

void CacheDirectory::evict() const {
  std::error_code error;
  std::map<std::string, Group> by_stem;
  int64_t total = 0;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    struct stat info;
    if (lstat(entry.path().c_str(), &info) != 0) continue;
    const auto used =
        entry.is_symlink(error) ? fs::file_time_type::min() : entry.last_write_time(error);
    if (name.rfind(kStaged, 0) == 0) {
      if (fs::file_time_type::clock::now() - entry.last_write_time(error) > kStagedLife)
        unlink(entry.path().c_str());
      continue;
    }
    if (!is_ours(name)) continue;
    Group& group = by_stem[group_of(entry)];
    group.files.push_back(entry.path());
    group.bytes += info.st_size;
    group.used = std::max(group.used, used);
    total += info.st_size;
  }
  if (total <= limit_) return;
  std::vector<Group> groups;
  for (auto& [stem, group] : by_stem) groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.used < b.used; });
  for (const Group& group : groups) {
    if (total <= limit_ / 10 * 9) break;
    for (const fs::path& path : group.files) unlink(path.c_str());
    total -= group.bytes;
  }
}

bool CacheDirectory::writable() const {
  const std::string probe = file(str_cat(kStaged, unique_name()));
  const bool ok = write_file(probe, std::string(1 << 20, '\0')).ok();
  unlink(probe.c_str());
  return ok;
}

}  // namespace inductor
