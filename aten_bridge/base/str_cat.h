// Text from parts: absl::StrCat, for std::string_view too.
//   str_cat("line ", 3, ": ", std::string_view("expected a name"))
//
// Distributions build Abseil with a string_view class of its own, which std::string_view does not
// convert to.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace aten_bridge {

inline absl::string_view to_absl(std::string_view text) { return {text.data(), text.size()}; }

namespace internal {
inline absl::string_view part(std::string_view text) { return to_absl(text); }
inline absl::string_view part(const std::string& text) { return text; }
inline absl::string_view part(const char* text) { return text; }
template <class Number>
const Number& part(const Number& number) {
  return number;
}
}  // namespace internal

template <class... Parts>
std::string str_cat(const Parts&... parts) {
  return absl::StrCat(internal::part(parts)...);
}

template <class... Parts>
void str_append(std::string* text, const Parts&... parts) {
  absl::StrAppend(text, internal::part(parts)...);
}

}  // namespace aten_bridge
