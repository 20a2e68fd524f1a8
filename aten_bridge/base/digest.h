// The digest of content: the key of caches, the tail of generated names.
//   digest({source, flags, compiler}) == "9f86d081884c7d659a2feaa0c55ad015"
//   digest({"ab", "c"}) != digest({"a", "bc"})
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace aten_bridge {

// SHA-256 over the parts and their lengths, its first 128 bits as 32 hexadecimal digits.
std::string digest(std::initializer_list<std::string_view> parts);

// SHA-256 of the pieces one after the other, as other tools compute it of a file.
std::array<uint8_t, 32> sha256(std::span<const std::string_view> pieces);

}  // namespace aten_bridge
