#include <algorithm>
#include <charconv>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/names.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

// What stands in the text is wrong; thrown and caught in this file.
struct SyntaxError {
  std::string message;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Characters, and where we are among them.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + at_, '\n');
    throw SyntaxError{str_cat("line ", line, ": ", parts...)};
  }
  [[noreturn]] void expected(std::string_view what) const {
    const std::string_view rest = text_.substr(at_);
    const std::string_view next = rest.substr(0, std::min<size_t>(rest.find('\n'), 20));
    fail("expected ", what, next.empty() ? " at the end" : str_cat(", found \"", next, "\""));
  }

  // The next character after space and comments; '\0' at the end.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void require(char c, std::string_view where) {
    if (!take(c)) expected(str_cat("'", std::string(1, c), "' ", where));
  }

  template <class Predicate>
  std::string_view peek_while(Predicate belongs) {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && belongs(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  std::string_view peek_word() { return peek_while(is_word_character); }
  bool take_word(std::string_view word) {
    if (peek_word() != word) return false;
    advance(word.size());
    return true;
  }
  template <class Predicate>
  std::string_view require_while(Predicate belongs, std::string_view what) {
    const std::string_view found = peek_while(belongs);
    if (found.empty()) expected(what);
    advance(found.size());
    return found;
  }

  std::string_view rest() const { return text_.substr(at_); }
  void advance(size_t n) { at_ += n; }

  // "  # text" up to the end of the line; empty where there is none.
  std::string_view take_comment() {
    size_t hash = at_;
    while (hash < text_.size() && text_[hash] == ' ') ++hash;
    if (hash >= text_.size() || text_[hash] != '#') return "";
    const size_t end = std::min(text_.find('\n', hash), text_.size());
    at_ = end;
    const absl::string_view trimmed =
        absl::StripAsciiWhitespace(to_absl(text_.substr(hash + 1, end - hash - 1)));
    return {trimmed.data(), trimmed.size()};
  }

 private:
  void skip_space() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Graph graph() {
    head();
    while (!in_.take_word("return")) node();
    std::vector<std::optional<Value>> results;
    if (in_.peek() != '}') {
      do {
        results.push_back(optional_tensor());
      } while (in_.take(','));
    }
    in_.require('}', "at the end of the graph");
    if (in_.peek() != '\0') in_.expected("nothing after the graph");
    graph_.set_outputs(std::move(results));
    return std::move(graph_);
  }

 private:
  void head() {
    if (!in_.take_word("graph")) in_.expected("\"graph\"");
    if (!in_.take_word(kTextVersion)) in_.expected(str_cat("version ", kTextVersion));
    graph_.name = in_.require_while(is_word_character, "the graph's name");
    in_.require('(', "before the inputs");
    if (!in_.take(')')) {
      do {
        const std::string name(in_.require_while(is_word_character, "an input's name"));
        in_.require(':', "after the input's name");
        define(name, graph_.add_input(name, type()));
      } while (in_.take(','));
      in_.require(')', "after the inputs");
    }
    in_.require('{', "before the nodes");
  }

  void node() {
    std::vector<std::string> names;
    std::vector<std::optional<TensorType>> types;
    if (in_.peek() == '%') {
      do {
        names.push_back(value_name());
        in_.require(':', "after the value's name");
        types.push_back(in_.take_word("none") ? std::nullopt : std::optional(type()));
      } while (in_.take(','));
      in_.require('=', "before the operator");
    }
    const auto of_operator = [](char c) { return is_word_character(c) || c == ':'; };
    std::string op(in_.require_while(of_operator, "an operator or \"return\""));
    std::vector<Argument> args = arguments();
    std::string origin(in_.take_comment());
    Node* n = graph_.add(std::move(op), std::move(args), std::move(types), std::move(origin));
    for (size_t i = 0; i < names.size(); ++i) define(names[i], n->output(i));
  }

  std::vector<Argument> arguments() {
    std::vector<Argument> args;
    in_.require('(', "before the arguments");
    if (in_.take(')')) return args;
    do {
      args.push_back(argument());
    } while (in_.take(','));
    in_.require(')', "after the arguments");
    return args;
  }

  Argument argument() {
    const Cursor start = in_;
    std::string name(in_.peek_word());
    in_.advance(name.size());
    if (is_word(name) && in_.take('=')) return {std::move(name), value()};
    in_ = start;
    return {"self", value()};
  }

  ArgumentValue value() {
    switch (const char c = in_.peek()) {
      case '%':
        return tensor();
      case '"':
        return string();
      case '@':
        return device();
      case '[':
        return list();
      default:
        if (is_digit(c) || c == '-') return number();
        return word();
    }
  }

  ArgumentValue word() {
    const std::string_view w = in_.peek_word();
    const auto is = [&](auto value) -> ArgumentValue {
      in_.advance(w.size());
      return value;
    };
    if (w == "none") return is(std::monostate());
    if (w == "true") return is(true);
    if (w == "false") return is(false);
    if (w == "inf" || w == "nan") return real();
    if (w == "complex") return complex();
    if (in_.rest().substr(w.size(), 2) == "[]") return empty_list();
    if (auto dtype = parse_dtype(w)) return is(*dtype);
    if (values_.contains(to_absl(w))) return tensor();
    return integer();
  }

  // Of the kind that its items have.
  ArgumentValue list() {
    in_.require('[', "before a list");
    if (in_.take(']')) return std::vector<SymExpr>();
    std::vector<ArgumentValue> items;
    do {
      if (in_.peek() == '[') in_.fail("a list holds no lists");
      items.push_back(value());
    } while (in_.take(','));
    in_.require(']', "after a list");

    std::vector<std::optional<Value>> tensors;
    for (const ArgumentValue& item : items) {
      if (const auto* tensor = std::get_if<Value>(&item)) {
        tensors.push_back(*tensor);
      } else if (std::holds_alternative<std::monostate>(item)) {
        tensors.push_back(std::nullopt);
      }
    }
    if (tensors.size() == items.size()) return tensors;
    if (auto all = list_of<SymExpr>(items)) return *all;
    if (auto all = list_of<double>(items)) return *all;
    if (auto all = list_of<bool>(items)) return *all;
    in_.fail("a list's items must all be tensors, integers, doubles or bools");
  }

  template <class Item>
  static std::optional<std::vector<Item>> list_of(const std::vector<ArgumentValue>& items) {
    std::vector<Item> all;
    for (const ArgumentValue& item : items) {
      if (!std::holds_alternative<Item>(item)) return std::nullopt;
      all.push_back(std::get<Item>(item));
    }
    return all;
  }

  ArgumentValue empty_list() {
    const std::string_view type = in_.require_while(is_word_character, "a list's type");
    in_.advance(2);  // "[]"
    if (type == "tensor") return std::vector<std::optional<Value>>();
    if (type == "double") return std::vector<double>();
    if (type == "bool") return std::vector<bool>();
    in_.fail("there are no lists of ", type);
  }

  ArgumentValue number() {
    const std::string_view token =
        in_.peek_while([](char c) { return is_word_character(c) || c == '-' || c == '+'; });
    const std::string_view magnitude = token.substr(token[0] == '-' ? 1 : 0);
    const size_t end = std::min(magnitude.find_first_not_of("0123456789"), magnitude.size());
    const char next = end < magnitude.size() ? magnitude[end] : '\0';
    const bool is_real = end == 0 ? magnitude == "inf" : next == '.' || next == 'e';
    if (is_real) return real();
    return integer();
  }

  double real() {
    if (in_.take_word("nan")) return std::numeric_limits<double>::quiet_NaN();
    in_.peek();
    const std::string_view rest = in_.rest();
    double value;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) in_.expected("a number");
    in_.advance(end - rest.data());
    return value;
  }

  ArgumentValue complex() {
    in_.take_word("complex");
    in_.require('(', "after \"complex\"");
    const double real_part = real();
    in_.require(',', "after the real part");
    const double imaginary_part = real();
    in_.require(')', "after the imaginary part");
    return std::complex<double>(real_part, imaginary_part);
  }

  SymExpr integer() {
    in_.peek();
    std::string_view rest = in_.rest();
    const size_t before = rest.size();
    std::optional<SymExpr> e = parse_sym_expr(&rest);
    if (!e) in_.expected("a value");
    in_.advance(before - rest.size());
    return *e;
  }

  ArgumentValue string() {
    in_.require('"', "before a string");
    const std::string_view rest = in_.rest();
    size_t end = 0;
    while (end < rest.size() && rest[end] != '"' && rest[end] != '\n')
      end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size() || rest[end] != '"') in_.fail("a string without its closing quote");
    std::string value;
    if (!absl::CUnescape(to_absl(rest.substr(0, end)), &value))
      in_.fail("an escape that C does not have");
    in_.advance(end + 1);
    return value;
  }

  Device device() {
    in_.require('@', "before a device");
    if (in_.take_word("cpu")) return {};
    if (!in_.take_word("cuda")) in_.expected("cpu or cuda");
    in_.require(':', "after \"cuda\"");
    const std::string_view digits = in_.require_while(is_digit, "the device's number");
    Device device{Device::Kind::kCuda};
    if (std::from_chars(digits.data(), digits.data() + digits.size(), device.index).ec !=
        std::errc())
      in_.fail("a device's number that is too large");
    return device;
  }

  TensorType type() {
    TensorType type;
    const std::string_view word = in_.peek_word();
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype) in_.expected("a type such as f32[8, 4]");
    in_.advance(word.size());
    type.dtype = *dtype;
    type.sizes = extents('[', ']');
    type.strides = in_.peek() == '{' ? extents('{', '}') : contiguous_strides(type.sizes);
    if (in_.peek() == '@') type.device = device();
    return type;
  }

  std::vector<SymExpr> extents(char open, char close) {
    std::vector<SymExpr> all;
    in_.require(open, "in a type");
    if (in_.take(close)) return all;
    do {
      all.push_back(integer());
    } while (in_.take(','));
    in_.require(close, "in a type");
    return all;
  }

  std::string value_name() {
    in_.require('%', "before a value's number");
    return str_cat("%", in_.require_while(is_word_character, "a value's number"));
  }

  Value tensor() {
    const std::string name = in_.peek() == '%'
                                 ? value_name()
                                 : std::string(in_.require_while(is_word_character, "a tensor"));
    auto found = values_.find(name);
    if (found == values_.end()) in_.fail(name, " is not defined before its use");
    return found->second;
  }

  std::optional<Value> optional_tensor() {
    if (in_.take_word("none")) return std::nullopt;
    return tensor();
  }

  void define(const std::string& name, Value value) {
    if (!values_.emplace(name, value).second) in_.fail(name, " is defined twice");
  }

  Cursor in_;
  Graph graph_;
  absl::flat_hash_map<std::string, Value> values_;
};

}  // namespace

absl::StatusOr<Graph> parse_graph(std::string_view text) {
  try {
    return Parser(text).graph();
  } catch (const SyntaxError& error) {
    return absl::InvalidArgumentError(error.message);
  }
}

}  // namespace aten_bridge
