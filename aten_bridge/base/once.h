// Says something on stderr the first time only.
//   say_once("no compiler", "g++ is missing: running in eager");   // "torchdyn: g++ is missing:
//   ..."
//
// Law: a message is printed when its key is seen for the first time in the process; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aten_bridge {

void say_once(std::string_view key, std::string_view message);

// While one lives, messages come here instead, and every key counts as new. One at a time; for
// tests.
class SaidCapture {
 public:
  SaidCapture();
  ~SaidCapture();
  SaidCapture(const SaidCapture&) = delete;
  SaidCapture& operator=(const SaidCapture&) = delete;

  std::vector<std::string> messages() const;
};

}  // namespace aten_bridge
