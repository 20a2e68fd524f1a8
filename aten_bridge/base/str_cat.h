// Text from parts: absl::StrCat, for std::string_view too.
//   str_cat("line ", 3, ": ", std::string_view("expected a name"))
//   join(sizes, [](const SymExpr& e) { return e.str(); })           // "8, 4"
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

// The items' texts with ", " between.
template <class Items, class Print>
std::string join(const Items& items, Print print) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    str_append(&text, first ? "" : ", ", print(item));
    first = false;
  }
  return text;
}

}  // namespace aten_bridge
