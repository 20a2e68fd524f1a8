// The numbers of the container's bytes, for writer and reader; README.md draws them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace torchdyn::layout {

// As in other binary formats: a byte that is no ASCII, line ends of two kinds and an end of text
// tell a file that went through a conversion.
inline constexpr std::string_view kMagic = "\x89TDPK\r\n\x1a";
inline constexpr uint32_t kMajor = 1;  // of a reader that finds another one: it refuses
inline constexpr uint32_t kMinor = 0;  // a higher one adds what may be ignored

// Of the header.
inline constexpr size_t kMajorAt = 8, kMinorAt = 12, kFileBytesAt = 16, kSectionCountAt = 24,
                        kTableDigestAt = 32;
inline constexpr size_t kHeaderBytes = 64;
// Of an entry of the table, which follows the header.
inline constexpr size_t kNameBytes = 64, kOffsetAt = 64, kBytesAt = 72, kDigestAt = 80;
inline constexpr size_t kEntryBytes = 128;
// Sections begin at multiples of a page, so that each can be mapped by itself.
inline constexpr size_t kAlignment = 4096;
inline constexpr size_t kMostSections = 1 << 16;

inline uint64_t read_number(std::string_view bytes, size_t at, int width) {
  uint64_t value = 0;
  for (int i = width - 1; i >= 0; --i)
    value = value << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)]);
  return value;
}

inline void write_number(char* to, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) to[i] = static_cast<char>(value >> (8 * i));
}

inline bool is_name(std::string_view name) {
  if (name.empty() || name.size() >= kNameBytes) return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '/' ||
          c == '-'))
      return false;
  return true;
}

inline uint64_t align(uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace torchdyn::layout
