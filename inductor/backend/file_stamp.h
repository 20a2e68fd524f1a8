// What tells one version of a compiler's file from another without running it.
//   identity += file_stamp("/usr/bin/g++");
#pragma once

#include <string>

namespace inductor {

// Where the file is, its size and time, and its first bytes (the build id of an executable or a
// shared library is among them).
std::string file_stamp(const std::string& path);

}  // namespace inductor
