// Reads words, numbers and symbols from the front of a text.
//   Scanner in("buf0: f32[8]");
//   std::string_view name = in.word();   // "buf0"
//   in.expect(":");                      // throws SyntaxError when the text goes on otherwise
// Space and comments (from # to the end of the line) stand between any two. SyntaxError never
// leaves a parse function: it becomes an absl::Status there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aten_bridge/symbolic/expr.h"

namespace aten_bridge {

struct SyntaxError {
  std::string message;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : all_(text), rest_(text) {}

  bool at_end();
  bool sees(std::string_view token);  // without consuming it
  bool eat(std::string_view token);
  bool eat_word(std::string_view word);  // all of the word that comes next
  void expect(std::string_view token);
  bool sees_word();
  // Letters, digits, '_', '.' and ':' where "::" joins two words; not empty.
  std::string_view word();
  std::string_view word_if_any();  // empty where there is none
  int64_t integer();
  SymExpr sym();
  std::vector<SymExpr> syms(std::string_view open, std::string_view close);
  // The longest prefix that reads as a number: -1.5e-3, inf, nan.
  std::string_view number();
  bool sees_number();
  std::string quoted();  // "a\n", C escapes
  // What the comment on the rest of this line says; empty where there is none.
  std::string_view comment();
  std::string_view rest() const { return rest_; }
  void skip_to(std::string_view rest) { rest_ = rest; }

  // "line 2: expected a name, found ')'"
  [[noreturn]] void fail(std::string_view expected) const;
  // "line 2: %7 is not defined"
  [[noreturn]] void refuse(std::string_view message) const;
  int line() const;  // of the position, from 1

 private:
  void skip_space();
  std::string_view all_, rest_;
};

}  // namespace aten_bridge
