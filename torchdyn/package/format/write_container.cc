#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/layout.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;
using layout::write_number;

uint64_t size_of(const SectionToWrite& section) {
  uint64_t bytes = 0;
  for (std::string_view piece : section.pieces) bytes += piece.size();
  return bytes;
}

void put(std::string& table, size_t at, std::string_view bytes) {
  std::copy(bytes.begin(), bytes.end(), table.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string_view text_of(const Sha256Bytes& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Header and table.
std::string make_front(const std::vector<SectionToWrite>& sections,
                       const std::vector<uint64_t>& offsets, uint64_t file_bytes) {
  std::string table(sections.size() * layout::kEntryBytes, '\0');
  for (size_t i = 0; i < sections.size(); ++i) {
    const size_t entry = i * layout::kEntryBytes;
    put(table, entry, sections[i].name);
    write_number(&table[entry + layout::kOffsetAt], offsets[i], 8);
    write_number(&table[entry + layout::kBytesAt], size_of(sections[i]), 8);
    put(table, entry + layout::kDigestAt, text_of(aten_bridge::sha256(sections[i].pieces)));
  }
  std::string header(layout::kHeaderBytes, '\0');
  put(header, 0, layout::kMagic);
  write_number(&header[layout::kMajorAt], layout::kMajor, 4);
  write_number(&header[layout::kMinorAt], layout::kMinor, 4);
  write_number(&header[layout::kFileBytesAt], file_bytes, 8);
  write_number(&header[layout::kSectionCountAt], sections.size(), 8);
  const std::string_view whole_table[] = {table};
  put(header, layout::kTableDigestAt, text_of(aten_bridge::sha256(whole_table)));
  return header + table;
}

class StagedFile {
 public:
  explicit StagedFile(std::string path)
      : path_(std::move(path)), staged_(path_ + ".XXXXXX"), fd_(mkstemp(staged_.data())) {}
  ~StagedFile() {
    if (fd_ < 0) return;
    close(fd_);
    if (!published_) unlink(staged_.c_str());
  }
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  absl::Status write(std::string_view bytes) {
    while (fd_ >= 0 && !bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure();
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return fd_ < 0 ? failure() : absl::OkStatus();
  }

  absl::Status publish() {
    const mode_t mask = umask(0);
    umask(mask);
    if (fd_ < 0 || fchmod(fd_, 0666 & ~mask) != 0 || fsync(fd_) != 0 ||
        rename(staged_.c_str(), path_.c_str()) != 0)
      return failure();
    published_ = true;
    return absl::OkStatus();
  }

 private:
  absl::Status failure() const {
    return absl::UnavailableError(str_cat("cannot write ", path_, ": ", std::strerror(errno)));
  }

  const std::string path_;
  std::string staged_;
  const int fd_;
  bool published_ = false;
};

}  // namespace

absl::Status write_container(const std::string& path, const std::vector<SectionToWrite>& sections) {
  std::set<std::string_view> names;
  for (const SectionToWrite& section : sections) {
    if (!layout::is_name(section.name))
      return absl::InvalidArgumentError(str_cat("'", section.name, "' is no section's name"));
    if (!names.insert(section.name).second)
      return absl::InvalidArgumentError(str_cat("two sections named ", section.name));
  }
  std::vector<uint64_t> offsets;
  uint64_t end = layout::kHeaderBytes + sections.size() * layout::kEntryBytes;
  for (const SectionToWrite& section : sections) {
    offsets.push_back(layout::align(end));
    end = offsets.back() + size_of(section);
  }

  StagedFile file(path);
  uint64_t written = 0;
  absl::Status status;
  const auto write = [&](std::string_view bytes) {
    if (status.ok()) status = file.write(bytes);
    written += bytes.size();
  };
  write(make_front(sections, offsets, end));
  for (size_t i = 0; i < sections.size(); ++i) {
    write(std::string(offsets[i] - written, '\0'));
    for (std::string_view piece : sections[i].pieces) write(piece);
  }
  return status.ok() ? file.publish() : status;
}

}  // namespace torchdyn
