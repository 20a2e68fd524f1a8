// The words of the graph's text, shared by its printer, parser and verifier.
#pragma once

#include <string_view>

#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

inline constexpr std::string_view kTextVersion = "1";

bool is_word_character(char c);  // of names: letters, digits, _ and .
// Not empty, of word characters, and not beginning with a digit or a dot.
bool is_word(std::string_view text);
// A word with a meaning of its own: none, true, inf, a dtype, a function, a symbol as in expr.h,
// ...
bool is_reserved(std::string_view word);

}  // namespace aten_bridge
