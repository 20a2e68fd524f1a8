#include "inductor/timing.h"

#include "absl/strings/str_format.h"

namespace inductor {

size_t Timing::index_of(std::string_view name) {
  for (size_t i = 0; i < stages_.size(); ++i)
    if (stages_[i].first == name) return i;
  stages_.emplace_back(name, 0);
  return stages_.size() - 1;
}

void Timing::add(const Timing& other) {
  for (const auto& [name, time] : other.stages_) stages_[index_of(name)].second += time;
}

std::string Timing::text() const {
  std::string text;
  for (const auto& [name, time] : stages_)
    absl::StrAppendFormat(&text, "%s%s %.1f ms", text.empty() ? "" : ", ", std::string(name),
                          time.count());
  return text;
}

}  // namespace inductor
