#include "aten_bridge/symbolic/expr.h"

#include <algorithm>

#include "absl/hash/hash.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/symbolic/node.h"

namespace aten_bridge {
namespace {

std::strong_ordering compare(const Atom& a, const Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (auto c = a.kind <=> b.kind; c != 0) return c;
  if (a.kind == Atom::Kind::kSymbol) return a.symbol <=> b.symbol;
  if (auto c = compare(a.a, b.a); c != 0) return c;
  return compare(a.b, b.b);
}

size_t hash_of(const std::vector<Term>& terms, int64_t constant) {
  size_t hash = absl::HashOf(constant);
  for (const Term& t : terms) {
    hash = absl::HashOf(hash, t.coefficient);
    for (const auto& atom : t.factors) hash = absl::HashOf(hash, atom->hash);
  }
  return hash;
}

// The terms are sorted and distinct already.
SymExpr make_canonical(std::vector<Term> terms, int64_t constant) {
  if (terms.empty()) return constant;
  const size_t hash = hash_of(terms, constant);
  return SymExprAccess::make(
      std::make_shared<const SymExpr::Node>(SymExpr::Node{std::move(terms), constant, hash}));
}

// Adds factor * e to a sum in the making.
void add_scaled(const SymExpr& e, int64_t factor, std::vector<Term>& terms, int64_t& constant) {
  for (const Term& t : terms_of(e))
    terms.push_back({checked_multiply(t.coefficient, factor), t.factors});
  constant = checked_add(constant, checked_multiply(constant_of(e), factor));
}

SymExpr scaled(const SymExpr& e, int64_t factor) {  // by other than 0
  std::vector<Term> terms;
  terms.reserve(terms_of(e).size());
  int64_t constant = 0;
  add_scaled(e, factor, terms, constant);
  return make_canonical(std::move(terms), constant);
}

SymExpr sum_of(const SymExpr& a, const SymExpr& b, int64_t factor_of_b) {
  std::vector<Term> terms;
  terms.reserve(terms_of(a).size() + terms_of(b).size());
  int64_t constant = 0;
  add_scaled(a, 1, terms, constant);
  add_scaled(b, factor_of_b, terms, constant);
  return make_sum(std::move(terms), constant);
}

SymExpr make_atom(Atom atom) {
  atom.hash = absl::HashOf(atom.kind, atom.symbol, atom.a, atom.b);
  Term term{1, {std::make_shared<const Atom>(std::move(atom))}};
  std::vector<Term> terms;
  terms.push_back(std::move(term));
  return make_canonical(std::move(terms), 0);
}

Factors multiply(const Factors& a, const Factors& b) {
  Factors all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end(),
            [](const auto& x, const auto& y) { return compare(*x, *y) < 0; });
  return all;
}

bool mentions(const Atom& atom, Symbol s) {
  if (atom.kind == Atom::Kind::kSymbol) return atom.symbol == s;
  return atom.a.mentions(s) || atom.b.mentions(s);
}

bool mentions_any(const SymExpr& e, const SymbolMap& map) {
  for (const Term& t : terms_of(e))
    for (const auto& atom : t.factors)
      if (atom->kind == Atom::Kind::kSymbol
              ? map.contains(atom->symbol)
              : mentions_any(atom->a, map) || mentions_any(atom->b, map))
        return true;
  return false;
}

void collect_symbols(const SymExpr& e, std::vector<Symbol>& out) {
  for (const Term& t : terms_of(e)) {
    for (const auto& atom : t.factors) {
      if (atom->kind == Atom::Kind::kSymbol) out.push_back(atom->symbol);
      collect_symbols(atom->a, out);
      collect_symbols(atom->b, out);
    }
  }
}

int64_t evaluate(const Atom& atom, const std::function<int64_t(Symbol)>& value_of) {
  if (atom.kind == Atom::Kind::kSymbol) return value_of(atom.symbol);
  return apply(atom.kind, atom.a.evaluate(value_of), atom.b.evaluate(value_of)).as_constant();
}

}  // namespace

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum;
  TD_CHECK(!__builtin_add_overflow(a, b, &sum), "overflow in ", a, " + ", b);
  return sum;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t product;
  TD_CHECK(!__builtin_mul_overflow(a, b, &product), "overflow in ", a, " * ", b);
  return product;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  TD_CHECK(b > 0, "division of ", a, " by ", b);
  return a / b - (a % b < 0 ? 1 : 0);
}

int64_t floor_remainder(int64_t a, int64_t b) {
  TD_CHECK(b > 0, "remainder of ", a, " by ", b);
  return a % b + (a % b < 0 ? b : 0);
}

std::strong_ordering compare(const Factors& a, const Factors& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (auto c = compare(*a[i], *b[i]); c != 0) return c;
  return b.size() <=> a.size();  // s0*s1 before s0
}

std::strong_ordering compare(const SymExpr& a, const SymExpr& b) {
  const std::vector<Term>&ta = terms_of(a), &tb = terms_of(b);
  if (&ta != &tb) {
    for (size_t i = 0; i < std::min(ta.size(), tb.size()); ++i) {
      if (auto c = compare(ta[i].factors, tb[i].factors); c != 0) return c;
      if (auto c = ta[i].coefficient <=> tb[i].coefficient; c != 0) return c;
    }
    if (auto c = tb.size() <=> ta.size(); c != 0) return c;  // constants last
  }
  return constant_of(a) <=> constant_of(b);
}

SymExpr SymExprAccess::make(std::shared_ptr<const SymExpr::Node> node) {
  SymExpr e;
  e.node_ = std::move(node);
  return e;
}

const std::vector<Term>& terms_of(const SymExpr& e) {
  static const auto& none = *new std::vector<Term>;
  const SymExpr::Node* node = SymExprAccess::node(e);
  return node ? node->terms : none;
}

int64_t constant_of(const SymExpr& e) {
  const SymExpr::Node* node = SymExprAccess::node(e);
  return node ? node->constant : e.as_constant();
}

SymExpr make_sum(std::vector<Term> terms, int64_t constant) {
  if (terms.size() > 1)
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return compare(a.factors, b.factors) < 0; });
  auto kept = terms.begin();  // one behind the last
  for (auto t = terms.begin(); t != terms.end(); ++t) {
    if (kept != terms.begin() && compare(std::prev(kept)->factors, t->factors) == 0) {
      std::prev(kept)->coefficient = checked_add(std::prev(kept)->coefficient, t->coefficient);
      continue;
    }
    if (kept != terms.begin() && std::prev(kept)->coefficient == 0) --kept;
    if (kept != t) *kept = std::move(*t);
    ++kept;
  }
  if (kept != terms.begin() && std::prev(kept)->coefficient == 0) --kept;
  terms.erase(kept, terms.end());
  return make_canonical(std::move(terms), constant);
}

SymExpr make_call(Atom::Kind kind, SymExpr a, SymExpr b) {
  return make_atom({kind, {}, std::move(a), std::move(b)});
}

SymExpr SymExpr::symbol(Symbol s) { return make_atom({Atom::Kind::kSymbol, s, 0, 0}); }

std::optional<int64_t> SymExpr::constant() const {
  if (is_constant()) return value_;
  return std::nullopt;
}

int64_t SymExpr::as_constant() const {
  TD_CHECK(is_constant(), str(), " is not a constant");
  return value_;
}

std::optional<Symbol> SymExpr::as_symbol() const {
  if (is_constant() || node_->constant != 0 || node_->terms.size() != 1) return std::nullopt;
  const Term& t = node_->terms.front();
  if (t.coefficient != 1 || t.factors.size() != 1) return std::nullopt;
  if (t.factors.front()->kind != Atom::Kind::kSymbol) return std::nullopt;
  return t.factors.front()->symbol;
}

SymExpr operator+(const SymExpr& a, const SymExpr& b) {
  if (a.is_constant() && b.is_constant()) return checked_add(a.value_, b.value_);
  if (a == 0) return b;
  if (b == 0) return a;
  return sum_of(a, b, 1);
}

SymExpr operator-(const SymExpr& a, const SymExpr& b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t difference;
    TD_CHECK(!__builtin_sub_overflow(a.value_, b.value_, &difference), "overflow in ", a.value_,
             " - ", b.value_);
    return difference;
  }
  if (b == 0) return a;
  return sum_of(a, b, -1);
}

SymExpr operator*(const SymExpr& a, const SymExpr& b) {
  if (a.is_constant() && b.is_constant()) return checked_multiply(a.value_, b.value_);
  if (a == 0 || b == 0) return 0;
  if (a == 1) return b;
  if (b == 1) return a;
  if (a.is_constant()) return scaled(b, a.value_);
  if (b.is_constant()) return scaled(a, b.value_);
  const int64_t ca = constant_of(a), cb = constant_of(b);
  std::vector<Term> terms;
  for (const Term& x : terms_of(a)) {
    if (cb != 0) terms.push_back({checked_multiply(x.coefficient, cb), x.factors});
    for (const Term& y : terms_of(b))
      terms.push_back(
          {checked_multiply(x.coefficient, y.coefficient), multiply(x.factors, y.factors)});
  }
  if (ca != 0)
    for (const Term& y : terms_of(b))
      terms.push_back({checked_multiply(ca, y.coefficient), y.factors});
  return make_sum(std::move(terms), checked_multiply(ca, cb));
}

bool operator==(const SymExpr& a, const SymExpr& b) {
  if (a.node_ == b.node_) return a.value_ == b.value_;
  if (!a.node_ || !b.node_ || a.node_->hash != b.node_->hash) return false;
  return compare(a, b) == 0;
}

std::vector<Symbol> SymExpr::symbols() const {
  std::vector<Symbol> all;
  collect_symbols(*this, all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool SymExpr::mentions(Symbol s) const {
  for (const Term& t : terms_of(*this))
    for (const auto& atom : t.factors)
      if (aten_bridge::mentions(*atom, s)) return true;
  return false;
}

SymExpr SymExpr::substitute(const SymbolMap& map) const {
  if (is_constant() || !mentions_any(*this, map)) return *this;
  std::vector<Term> terms;
  int64_t constant = constant_of(*this);
  for (const Term& t : terms_of(*this)) {
    if (t.factors.size() == 1 && t.factors[0]->kind == Atom::Kind::kSymbol) {  // mostly
      auto found = map.find(t.factors[0]->symbol);
      if (found == map.end())
        terms.push_back(t);
      else
        add_scaled(found->second, t.coefficient, terms, constant);
      continue;
    }
    SymExpr product = t.coefficient;
    for (const auto& atom : t.factors) {
      if (atom->kind != Atom::Kind::kSymbol) {
        product = product * apply(atom->kind, atom->a.substitute(map), atom->b.substitute(map));
      } else {
        auto found = map.find(atom->symbol);
        product = product * (found == map.end() ? symbol(atom->symbol) : found->second);
      }
    }
    add_scaled(product, 1, terms, constant);
  }
  return make_sum(std::move(terms), constant);
}

std::optional<int64_t> SymExpr::coefficient(Symbol s) const {
  int64_t found = 0;
  for (const Term& t : terms_of(*this)) {
    const bool alone = t.factors.size() == 1 && t.factors[0]->kind == Atom::Kind::kSymbol;
    for (const auto& atom : t.factors) {
      if (!aten_bridge::mentions(*atom, s)) continue;
      if (!alone) return std::nullopt;
      found = t.coefficient;
    }
  }
  return found;
}

int64_t SymExpr::evaluate(const std::function<int64_t(Symbol)>& value_of) const {
  int64_t sum = constant_of(*this);
  for (const Term& t : terms_of(*this)) {
    int64_t product = t.coefficient;
    for (const auto& atom : t.factors)
      product = checked_multiply(product, aten_bridge::evaluate(*atom, value_of));
    sum = checked_add(sum, product);
  }
  return sum;
}

size_t SymExpr::hash() const { return node_ ? node_->hash : absl::HashOf(value_); }

SymExpr product(const std::vector<SymExpr>& factors) {
  SymExpr all = 1;
  for (const SymExpr& f : factors) all = all * f;
  return all;
}

}  // namespace aten_bridge
