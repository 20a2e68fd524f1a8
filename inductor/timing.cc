#include "inductor/timing.h"

#include "absl/strings/str_format.h"

namespace inductor {

void Timing::add(std::string_view name, std::chrono::duration<double, std::milli> time) {
  for (auto& [known, milliseconds] : stages_) {
    if (known != name) continue;
    milliseconds += time.count();
    return;
  }
  stages_.emplace_back(name, time.count());
}

std::string Timing::text() const {
  std::string text;
  for (const auto& [name, milliseconds] : stages_)
    absl::StrAppendFormat(&text, "%s%s %.1f ms", text.empty() ? "" : ", ", std::string(name),
                          milliseconds);
  return text;
}

}  // namespace inductor
