// The digest of content: the key of caches, the tail of generated names.
//   digest({source, flags, compiler}) == "9f86d081884c7d659a2feaa0c55ad015"
//   digest({"ab", "c"}) != digest({"a", "bc"})
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace aten_bridge {

// SHA-256 over the parts and their lengths, its first 128 bits as 32 hexadecimal digits.
std::string digest(std::initializer_list<std::string_view> parts);

}  // namespace aten_bridge
