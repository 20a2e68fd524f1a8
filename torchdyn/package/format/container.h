// A file of named sections, which is what a package is; README.md has its bytes.
//   write_container("model.td", {{"manifest.json", {text}}, {"weights", {header, w0, w1}}});
//   auto file = MappedFile::open("model.td");                   // mapped_file.h
//   auto container = Container::parse(file->bytes());
//   std::string_view text = *container->bytes("manifest.json");
//
// Law
//  - parse() survives any bytes: it reads none outside them and refuses what is not a container,
//    with a reason. It looks at the header and the table alone, whatever the sections' size.
//  - What it accepts has sections with different names, on different bytes, all inside the file.
//  - A container holds no more than its sections: equal sections make equal files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace torchdyn {

using Sha256Bytes = std::array<uint8_t, 32>;

struct SectionToWrite {
  std::string name;                      // [a-z0-9._/-], at most 63 bytes
  std::vector<std::string_view> pieces;  // one after the other; borrowed
};

struct Section {
  std::string_view name;
  std::string_view bytes;
  Sha256Bytes sha256{};  // as the table says
};

// The file appears whole, by rename, or not at all: Unavailable, with the system's reason.
absl::Status write_container(const std::string& path, const std::vector<SectionToWrite>& sections);

class Container {
 public:
  // The bytes of a file, borrowed. InvalidArgument: what is wrong with them.
  static absl::StatusOr<Container> parse(std::string_view file);

  const std::vector<Section>& sections() const { return sections_; }
  bool has(std::string_view name) const;
  // NotFound, naming the section.
  absl::StatusOr<std::string_view> bytes(std::string_view name) const;
  // The same, and DataLoss where the bytes are not those that were written.
  absl::StatusOr<std::string_view> checked_bytes(std::string_view name) const;
  // Every section's digest, and that all bytes between sections are zero.
  absl::Status check_all() const;

 private:
  std::string_view file_;
  std::vector<Section> sections_;  // by offset
};

}  // namespace torchdyn
