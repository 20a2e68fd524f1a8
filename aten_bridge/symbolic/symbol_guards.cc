#include "aten_bridge/symbolic/symbol_guards.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

using Operator = SymbolGuards::Operator;

constexpr int64_t kLeastSize = 2;

// By Operator.
constexpr const char* kOperators[] = {"==", "!=", "<", "<=", ">", ">="};

bool holds(int64_t left, Operator op, int64_t right) {
  switch (op) {
    case Operator::kEqual:
      return left == right;
    case Operator::kNotEqual:
      return left != right;
    case Operator::kLess:
      return left < right;
    case Operator::kLessOrEqual:
      return left <= right;
    case Operator::kGreater:
      return left > right;
    case Operator::kGreaterOrEqual:
      return left >= right;
  }
  return false;
}

int64_t value_of(const SymExpr& e, const std::vector<int64_t>& values) {
  if (e.is_constant()) return e.as_constant();
  return e.evaluate([&](Symbol s) { return values.at(s.index); });
}

bool are_as_declared(std::span<const int64_t> given, const std::vector<SymExpr>& declared,
                     const std::vector<int64_t>& values) {
  return given.size() == declared.size() &&
         std::equal(given.begin(), given.end(), declared.begin(),
                    [&](int64_t size, const SymExpr& e) { return size == value_of(e, values); });
}

std::string text_of(const SymbolGuards::Condition& condition) {
  std::string text;
  for (const auto& [left, op, right] : condition)
    text += str_cat(text.empty() ? "" : " or ", left.str(), " ", kOperators[static_cast<int>(op)],
                    " ", right.str());
  return text;
}

bool holds(const SymbolGuards::Condition& condition, const std::vector<int64_t>& values) {
  return std::any_of(condition.begin(), condition.end(), [&](const SymbolGuards::Relation& r) {
    return holds(value_of(r.left, values), r.op, value_of(r.right, values));
  });
}

std::string text_of(const std::vector<SymExpr>& sizes) {
  std::string text = "[";
  for (const SymExpr& e : sizes) text += str_cat(text.size() > 1 ? ", " : "", e.str());
  return text + "]";
}

}  // namespace

std::optional<Operator> relation_operator(std::string_view text) {
  const auto* const found = std::find(std::begin(kOperators), std::end(kOperators), text);
  if (found == std::end(kOperators)) return std::nullopt;
  return static_cast<Operator>(found - std::begin(kOperators));
}

bool SymbolGuards::find_symbols() {
  std::vector<bool> is_used;
  const auto use = [&](const SymExpr& e) {
    for (const Symbol s : e.symbols()) {
      is_used.resize(std::max<size_t>(is_used.size(), s.index + 1));
      is_used[s.index] = true;
    }
  };
  for (const Condition& condition : conditions)
    for (const auto& [left, op, right] : condition) use(left), use(right);
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (!inputs[n]) continue;
    for (const SymExpr& e : inputs[n]->strides) use(e);
    for (size_t d = 0; d < inputs[n]->sizes.size(); ++d) {
      const SymExpr& e = inputs[n]->sizes[d];
      use(e);
      const auto symbol = e.as_symbol();
      if (!symbol) continue;
      places_.resize(std::max<size_t>(places_.size(), symbol->index + 1));
      Place& place = places_[symbol->index];
      if (place.input < 0) place = {static_cast<int>(n), static_cast<int>(d)};
    }
  }
  places_.resize(is_used.size());
  for (size_t s = 0; s < is_used.size(); ++s)
    if (is_used[s] && places_[s].input < 0) return false;
  return true;
}

std::optional<SymbolGuards::Values> SymbolGuards::values(GeometryOf geometry_of) const {
  Values values;
  values.reserve(places_.size());
  for (const Place& place : places_) {
    if (place.input < 0) {  // nobody asks
      values.push_back(kLeastSize);
      continue;
    }
    const auto sizes = geometry_of(place.input).sizes;
    const auto d = static_cast<size_t>(place.dimension);
    if (d >= sizes.size() || sizes[d] < kLeastSize) return std::nullopt;
    values.push_back(sizes[d]);
  }
  return values;
}

std::string SymbolGuards::failure(GeometryOf geometry_of,
                                  const std::vector<std::string>* names) const {
  const auto said = [&](auto... parts) { return names ? str_cat(parts...) : std::string("?"); };
  const auto values = this->values(geometry_of);
  if (!values) return said("an open size is below ", kLeastSize);
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (!inputs[n]) continue;
    const auto [sizes, strides] = geometry_of(n);
    const std::string_view name = names ? std::string_view((*names)[n]) : "";
    if (!are_as_declared(sizes, inputs[n]->sizes, *values))
      return said(name, ": its sizes are not ", text_of(inputs[n]->sizes));
    if (!are_as_declared(strides, inputs[n]->strides, *values))
      return said(name, ": its strides are not ", text_of(inputs[n]->strides));
  }
  for (const Condition& condition : conditions)
    if (!holds(condition, *values)) return said("not ", text_of(condition));
  return "";
}

bool SymbolGuards::check(GeometryOf geometry_of) const noexcept {
  try {
    return failure(geometry_of, nullptr).empty();
  } catch (const std::exception&) {  // an expression of these sizes is no number
    return false;
  }
}

std::string SymbolGuards::explain_failure(GeometryOf geometry_of,
                                          const std::vector<std::string>& names) const {
  return failure(geometry_of, &names);
}

std::vector<std::string> SymbolGuards::describe(const std::vector<std::string>& names) const {
  std::vector<std::string> lines;
  for (size_t n = 0; n < inputs.size(); ++n)
    if (inputs[n])
      lines.push_back(str_cat(names[n], ": sizes ", text_of(inputs[n]->sizes), ", strides ",
                              text_of(inputs[n]->strides)));
  for (const Condition& condition : conditions) lines.push_back(text_of(condition));
  return lines;
}

}  // namespace aten_bridge
