// The text of an expression.
//   sum    = ["-"] term { ("+" | "-") term }
//   term   = factor { "*" factor }
//   factor = integer | symbol | function "(" sum "," sum ")" | "(" sum ")"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/symbolic/node.h"

namespace aten_bridge {
namespace {

struct Function {
  Atom::Kind kind;
  std::string_view name;
};
constexpr Function kFunctions[] = {{Atom::Kind::kFloorDiv, "floor_div"},
                                   {Atom::Kind::kMod, "mod"},
                                   {Atom::Kind::kMin, "min"},
                                   {Atom::Kind::kMax, "max"}};

std::string text_of(const Atom& atom) {
  if (atom.kind == Atom::Kind::kSymbol)
    return str_cat(std::string_view(&atom.symbol.kind, 1), atom.symbol.index);
  for (const Function& f : kFunctions)
    if (f.kind == atom.kind) return str_cat(f.name, "(", atom.a.str(), ", ", atom.b.str(), ")");
  TD_CHECK(false, "an atom without a name");
}

// "+ 6", "- 3*s0"; the first of a sum is "6", "-3*s0".
void append(std::string& sum, int64_t coefficient, std::string_view factors) {
  const bool negative = coefficient < 0;
  if (sum.empty()) {
    str_append(&sum, negative ? "-" : "");
  } else {
    str_append(&sum, negative ? " - " : " + ");
  }
  const uint64_t magnitude = negative ? -static_cast<uint64_t>(coefficient) : coefficient;
  if (factors.empty()) {
    str_append(&sum, magnitude);
  } else if (magnitude != 1) {
    str_append(&sum, magnitude, "*", factors);
  } else {
    str_append(&sum, factors);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }

  std::optional<SymExpr> sum() {
    const Nested nested(depth_);
    if (depth_ > kDeepest) return std::nullopt;
    std::optional<SymExpr> total = term(take('-'));
    while (total) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      std::optional<SymExpr> next = term(!plus);
      if (!next) return std::nullopt;
      total = *total + *next;
    }
    return total;
  }

 private:
  // The sign is part of the first integer: INT64_MIN has no positive counterpart.
  std::optional<SymExpr> term(bool negative) {
    std::optional<SymExpr> all = factor(negative);
    while (all && take('*')) {
      std::optional<SymExpr> next = factor(false);
      if (!next) return std::nullopt;
      all = *all * *next;
    }
    return all;
  }

  std::optional<SymExpr> factor(bool negative) {
    skip_space();
    if (!rest_.empty() && absl::ascii_isdigit(rest_[0])) return integer(negative);
    std::optional<SymExpr> e;
    if (take('(')) {
      e = sum();
      if (!take(')')) return std::nullopt;
    } else {
      e = word();
    }
    return e && negative ? *e * -1 : e;
  }

  std::optional<SymExpr> integer(bool negative) {
    const std::string text = str_cat(negative ? "-" : "", take_while(absl::ascii_isdigit));
    int64_t value;
    if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
    return value;
  }

  std::optional<SymExpr> word() {
    const std::string_view name =
        take_while([](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
    for (const Function& f : kFunctions)
      if (f.name == name) return call(f.kind);
    int32_t index;
    if (name.size() < 2 || !absl::ascii_islower(name[0]) || !absl::ascii_isdigit(name[1]) ||
        !absl::SimpleAtoi(to_absl(name.substr(1)), &index))
      return std::nullopt;
    return SymExpr::symbol({name[0], index});
  }

  std::optional<SymExpr> call(Atom::Kind kind) {
    if (!take('(')) return std::nullopt;
    std::optional<SymExpr> a = sum();
    if (!a || !take(',')) return std::nullopt;
    std::optional<SymExpr> b = sum();
    if (!b || !take(')')) return std::nullopt;
    return apply(kind, *a, *b);
  }

  void skip_space() {
    while (!rest_.empty() && absl::ascii_isspace(rest_[0])) rest_.remove_prefix(1);
  }

  // Leaves the space before an absent character in place.
  bool take(char c) {
    const std::string_view before = rest_;
    skip_space();
    if (!rest_.empty() && rest_[0] == c) {
      rest_.remove_prefix(1);
      return true;
    }
    rest_ = before;
    return false;
  }

  template <class Predicate>
  std::string_view take_while(Predicate belongs) {
    size_t n = 0;
    while (n < rest_.size() && belongs(rest_[n])) ++n;
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  // Text may come from a file that somebody else wrote: the stack is finite.
  static constexpr int kDeepest = 200;
  struct Nested {
    explicit Nested(int& depth) : depth(depth) { ++depth; }
    ~Nested() { --depth; }
    int& depth;
  };

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

std::string SymExpr::str() const {
  std::string sum;
  for (const Term& t : terms_of(*this)) {
    std::string factors;
    for (const auto& atom : t.factors)
      str_append(&factors, factors.empty() ? "" : "*", text_of(*atom));
    append(sum, t.coefficient, factors);
  }
  if (const int64_t c = constant_of(*this); c != 0 || sum.empty()) append(sum, c, "");
  return sum;
}

std::optional<SymExpr> parse_sym_expr(std::string_view* text) {
  Parser parser(*text);
  try {
    std::optional<SymExpr> e = parser.sum();
    if (e) *text = parser.rest();
    return e;
  } catch (const InternalError&) {  // a number too large, a divisor that is not positive
    return std::nullopt;
  }
}

}  // namespace aten_bridge
