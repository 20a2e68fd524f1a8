#include <algorithm>
#include <set>

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/layout.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;
using layout::read_number;

absl::Status refuse(std::string reason) {
  return absl::InvalidArgumentError("not a package: " + std::move(reason));
}

Sha256Bytes digest_at(std::string_view bytes, size_t at) {
  Sha256Bytes digest;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), digest.size(), digest.begin());
  return digest;
}

Sha256Bytes digest_of(std::string_view bytes) {
  const std::string_view pieces[] = {bytes};
  return aten_bridge::sha256(pieces);
}

// The table, whose digest is checked.
absl::StatusOr<std::string_view> find_table(std::string_view file) {
  if (file.size() < layout::kHeaderBytes)
    return refuse(str_cat("it has ", file.size(), " bytes, fewer than a header"));
  if (!file.starts_with(layout::kMagic)) return refuse("it begins otherwise than one");
  const uint64_t major = read_number(file, layout::kMajorAt, 4);
  if (major != layout::kMajor)
    return absl::InvalidArgumentError(
        str_cat("a package of format ", major, "; this library reads format ", layout::kMajor));
  const uint64_t bytes = read_number(file, layout::kFileBytesAt, 8);
  if (bytes != file.size())
    return refuse(str_cat("it has ", file.size(), " bytes, and should have ", bytes));
  const uint64_t count = read_number(file, layout::kSectionCountAt, 8);
  if (count > layout::kMostSections ||
      count * layout::kEntryBytes > file.size() - layout::kHeaderBytes)
    return refuse(str_cat("a table of ", count, " sections does not fit into it"));
  const auto table = file.substr(layout::kHeaderBytes, count * layout::kEntryBytes);
  if (digest_of(table) != digest_at(file, layout::kTableDigestAt))
    return refuse("its table is damaged");
  return table;
}

absl::StatusOr<Section> read_entry(std::string_view file, std::string_view entry) {
  const std::string_view field = entry.substr(0, layout::kNameBytes);
  const std::string_view name = field.substr(0, field.find('\0'));
  if (!layout::is_name(name) || field.find_first_not_of('\0', name.size()) != field.npos)
    return refuse("a section has no proper name");
  const uint64_t offset = read_number(entry, layout::kOffsetAt, 8);
  const uint64_t bytes = read_number(entry, layout::kBytesAt, 8);
  if (offset % layout::kAlignment != 0) return refuse(str_cat("section ", name, " is not aligned"));
  if (offset > file.size() || bytes > file.size() - offset)
    return refuse(str_cat("section ", name, " goes beyond its end"));
  return Section{name, file.substr(offset, bytes), digest_at(entry, layout::kDigestAt)};
}

}  // namespace

absl::StatusOr<Container> Container::parse(std::string_view file) {
  const auto table = find_table(file);
  if (!table.ok()) return table.status();
  Container container;
  container.file_ = file;
  std::set<std::string_view> names;
  const char* end = table->data() + table->size();
  for (size_t at = 0; at < table->size(); at += layout::kEntryBytes) {
    auto section = read_entry(file, table->substr(at, layout::kEntryBytes));
    if (!section.ok()) return section.status();
    if (!names.insert(section->name).second)
      return refuse(str_cat("two sections named ", section->name));
    if (section->bytes.data() < end)
      return refuse(str_cat("section ", section->name, " begins where another one is"));
    end = section->bytes.data() + section->bytes.size();
    container.sections_.push_back(*section);
  }
  return container;
}

bool Container::has(std::string_view name) const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [&](const Section& s) { return s.name == name; });
}

absl::StatusOr<std::string_view> Container::bytes(std::string_view name) const {
  for (const Section& section : sections_)
    if (section.name == name) return section.bytes;
  return absl::NotFoundError(str_cat("the package has no section ", name));
}

absl::StatusOr<std::string_view> Container::checked_bytes(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name != name) continue;
    if (digest_of(section.bytes) == section.sha256) return section.bytes;
    return absl::DataLossError(str_cat("section ", name, " is damaged"));
  }
  return bytes(name).status();
}

absl::Status Container::check_all() const {
  size_t end = layout::kHeaderBytes + sections_.size() * layout::kEntryBytes;
  for (const Section& section : sections_) {
    if (auto bytes = checked_bytes(section.name); !bytes.ok()) return bytes.status();
    const auto begin = static_cast<size_t>(section.bytes.data() - file_.data());
    if (file_.substr(end, begin - end).find_first_not_of('\0') != file_.npos)
      return absl::DataLossError(str_cat("bytes before section ", section.name));
    end = begin + section.bytes.size();
  }
  if (end != file_.size()) return absl::DataLossError("bytes behind the last section");
  return absl::OkStatus();
}

}  // namespace torchdyn
