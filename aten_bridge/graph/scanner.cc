#include "aten_bridge/graph/scanner.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {

namespace {

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_word_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

size_t word_length(std::string_view text) {
  if (text.empty() || !is_word_start(text[0])) return 0;
  size_t n = 1;
  while (n < text.size()) {
    if (is_word_part(text[n])) {
      ++n;
    } else if (text.substr(n, 2) == "::" && n + 2 < text.size() && is_word_start(text[n + 2])) {
      n += 2;
    } else {
      break;
    }
  }
  return n;
}

size_t number_length(std::string_view text) {
  size_t n = !text.empty() && text[0] == '-' ? 1 : 0;
  for (std::string_view special : {"inf", "nan"})
    if (text.substr(n, 3) == special && word_length(text.substr(n)) == 3) return n + 3;
  if (n >= text.size() || !std::isdigit(static_cast<unsigned char>(text[n]))) return 0;
  while (n < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[n])) || text[n] == '.' || text[n] == 'e' ||
          ((text[n] == '-' || text[n] == '+') && text[n - 1] == 'e')))
    ++n;
  return n;
}

}  // namespace

void Scanner::skip_space() {
  while (!rest_.empty()) {
    if (rest_[0] == '#') {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (std::isspace(static_cast<unsigned char>(rest_[0]))) {
      rest_.remove_prefix(1);
    } else {
      break;
    }
  }
}

bool Scanner::at_end() {
  skip_space();
  return rest_.empty();
}

bool Scanner::sees(std::string_view token) {
  skip_space();
  return rest_.substr(0, token.size()) == token;
}

bool Scanner::eat(std::string_view token) {
  if (!sees(token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

bool Scanner::eat_word(std::string_view word) {
  skip_space();
  if (rest_.substr(0, word_length(rest_)) != word) return false;
  rest_.remove_prefix(word.size());
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!eat(token)) fail(str_cat("'", token, "'"));
}

bool Scanner::sees_word() {
  skip_space();
  return word_length(rest_) > 0;
}

std::string_view Scanner::word_if_any() {
  skip_space();
  const std::string_view found = rest_.substr(0, word_length(rest_));
  rest_.remove_prefix(found.size());
  return found;
}

std::string_view Scanner::word() {
  const std::string_view found = word_if_any();
  if (found.empty()) fail("a name");
  return found;
}

bool Scanner::sees_number() {
  skip_space();
  return number_length(rest_) > 0;
}

std::string_view Scanner::number() {
  if (!sees_number()) fail("a number");
  const std::string_view found = rest_.substr(0, number_length(rest_));
  rest_.remove_prefix(found.size());
  return found;
}

int64_t Scanner::integer() {
  const SymExpr value = sym();
  if (!value.is_constant()) fail("an integer");
  return value.as_constant();
}

SymExpr Scanner::sym() {
  skip_space();
  std::optional<SymExpr> value = parse_sym_expr(&rest_);
  if (!value) fail("an integer expression");
  return *value;
}

std::vector<SymExpr> Scanner::syms(std::string_view open, std::string_view close) {
  std::vector<SymExpr> values;
  expect(open);
  if (eat(close)) return values;
  do values.push_back(sym());
  while (eat(","));
  expect(close);
  return values;
}

std::string Scanner::quoted() {
  expect("\"");
  size_t end = 0;
  while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
  std::string text;
  if (end >= rest_.size() || !absl::CUnescape(to_absl(rest_.substr(0, end)), &text, nullptr))
    fail("a quoted string");
  rest_.remove_prefix(end + 1);
  return text;
}

std::string_view Scanner::comment() {
  const size_t hash = rest_.find_first_not_of(' ');
  if (hash == rest_.npos || rest_[hash] != '#') return "";
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  const absl::string_view text =
      absl::StripAsciiWhitespace(to_absl(rest_.substr(hash + 1, end - hash - 1)));
  rest_.remove_prefix(end);
  return {text.data(), text.size()};
}

int Scanner::line() const {
  const std::string_view read = all_.substr(0, all_.size() - rest_.size());
  return 1 + static_cast<int>(std::count(read.begin(), read.end(), '\n'));
}

void Scanner::fail(std::string_view expected) const {
  Scanner at = *this;
  at.skip_space();
  const std::string_view found = at.rest_.substr(0, std::min<size_t>(at.rest_.find('\n'), 40));
  at.refuse(str_cat("expected ", expected, ", found ",
                    found.empty() ? "the end" : str_cat("'", found, "'")));
}

void Scanner::refuse(std::string_view message) const {
  throw SyntaxError{str_cat("line ", line(), ": ", message)};
}

}  // namespace aten_bridge
