#include "inductor/emit/values.h"

#include <algorithm>
#include <bit>

#include "absl/strings/numbers.h"

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

const Symbol kLane{'l', 0};
constexpr size_t kLongestInline = 72;

// float32 to a half type and back.
bool is_rounding(Expr e) {
  if (e.op() != ScalarOp::cast || e.dtype() != DType::kFloat32) return false;
  const Expr half = e.args()[0];
  return half.op() == ScalarOp::cast && half.args()[0].dtype() == DType::kFloat32 &&
         (half.dtype() == DType::kFloat16 || half.dtype() == DType::kBFloat16);
}

// A float32 that bfloat16 has, by its form.
bool is_bf16(Expr e) {
  if (e.op() == ScalarOp::cast) return e.args()[0].dtype() == DType::kBFloat16;
  return e.op() == ScalarOp::constant && e.dtype() == DType::kFloat32 &&
         std::bit_cast<uint32_t>(static_cast<float>(e.floating())) % 0x10000 == 0;
}

bool is_bf16_arithmetic(Expr e) {
  if (e.op() != ScalarOp::add && e.op() != ScalarOp::sub && e.op() != ScalarOp::mul) return false;
  return is_bf16(e.args()[0]) && is_bf16(e.args()[1]);
}

}  // namespace

Values::Values(const LoopProgram& program, Names& names, const Dialect& dialect, Writer& writer,
               Lanes lanes, const Named& outer, ValueNaming naming)
    : program_(program),
      names_(names),
      dialect_(dialect),
      writer_(writer),
      lanes_(lanes),
      outer_(outer),
      naming_(naming) {
  if (!naming_.next) naming_.next = &next_name_;
}

void Values::plan(std::span<const Expr> roots) {
  std::vector<Expr> stack(roots.begin(), roots.end());
  while (!stack.empty()) {
    const Expr e = stack.back();
    stack.pop_back();
    if (outer_.contains(e.node())) continue;
    if (++uses_[e.node()] == 1) stack.insert(stack.end(), e.args().begin(), e.args().end());
  }
}

bool Values::varies(Expr e) const {
  if (outer_.contains(e.node())) return false;
  if (e.op() == ScalarOp::load || e.op() == ScalarOp::index)
    if (e.index().mentions(lanes_.variable)) return true;
  return std::any_of(e.args().begin(), e.args().end(), [&](Expr a) { return varies(a); });
}

std::string Values::value(Expr e) {
  const std::string type = dialect_.type(e.dtype(), lanes_.width);
  if (e.op() == ScalarOp::constant) {
    const std::string text = dialect_.literal(e);
    return is_wide() ? str_cat("td_set<", type, ">(", text, ")") : text;
  }
  if (auto it = named_.find(e.node()); it != named_.end()) return it->second;
  if (auto it = outer_.find(e.node()); it != outer_.end())
    return is_wide() ? str_cat("td_set<", type, ">(", it->second, ")") : it->second;
  const std::string text = spell(e);
  if (uses_[e.node()] < 2 && text.size() <= kLongestInline) return text;
  return give_name(e, text);
}

std::string Values::give_name(Expr e, const std::string& text) {
  const std::string name = str_cat(std::string(1, naming_.prefix), (*naming_.next)++);
  writer_.line(
      str_cat("const ", dialect_.type(e.dtype(), lanes_.width), " ", name, " = ", text, ";"));
  return named_[e.node()] = name;
}

std::string Values::name(Expr e) {
  const std::string text = value(e);
  const auto it = named_.find(e.node());
  return it != named_.end() ? it->second : give_name(e, text);
}

std::string Values::spell(Expr e) {
  if (e.op() == ScalarOp::load) return load(e.buffer(), e.index(), e.args());
  if (e.op() == ScalarOp::index) {
    const Address a = address(e.index(), {});
    if (!is_wide()) return str_cat("int64_t(", a.index, ")");
    const std::string type = dialect_.type(DType::kInt64, lanes_.width);
    if (!a.stride) return str_cat("td_lanes<", type, ">(", per_lane(a, a.lane_index), ")");
    return str_cat("td_iota<", type, ">(", a.index, ", ", *a.stride, ")");
  }
  if (is_rounding(e) && !outer_.contains(e.args()[0].node()))
    return rounded(e.args()[0].args()[0], e.args()[0].dtype());
  std::vector<std::string> args;
  for (Expr arg : e.args()) args.push_back(value(arg));
  if (e.op() == ScalarOp::cast) return dialect_.cast(e.dtype(), lanes_.width, args[0]);
  return dialect_.apply(e.op(), e.args().back().dtype(), lanes_.width, args);
}

std::string Values::rounded(Expr e, DType half) {
  if (half != DType::kBFloat16 || !is_bf16_arithmetic(e))
    return dialect_.round(half, lanes_.width, value(e));
  const std::string a = value(e.args()[0]), b = value(e.args()[1]);
  return dialect_.apply_rounded(e.op(), half, lanes_.width, a, b);
}

// A scalar inside an index: its literal or its name, which is a letter and a number.
SymExpr Values::symbol_for(Expr e) {
  if (e.op() == ScalarOp::constant) return e.integer();
  const auto outer = outer_.find(e.node());
  const std::string known = outer != outer_.end() ? outer->second : name(e);
  int number = 0;
  if (absl::SimpleAtoi(known.substr(1), &number)) return SymExpr::symbol({known[0], number});
  auto [it, is_new] = symbol_of_.try_emplace(e.node(), Symbol{'t', names_.next_symbol_value});
  if (is_new)
    writer_.line(str_cat("const int64_t t", names_.next_symbol_value++, " = ", known, ";"));
  return SymExpr::symbol(it->second);
}

Values::Address Values::address(const SymExpr& index, std::span<const Expr> symbol_values) {
  Address a;
  SymbolMap map;
  for (size_t k = 0; k < symbol_values.size(); ++k) {
    const Expr e = symbol_values[k];
    const Symbol t{'t', static_cast<int32_t>(k)};
    if (!index.mentions(t)) continue;
    if (is_wide() && varies(e)) {
      const Symbol fresh{'t', names_.next_symbol_value++};
      a.lane_lines.push_back(
          str_cat("const int64_t ", SymExpr::symbol(fresh).str(), " = ", name(e), "[l0]; "));
      map[t] = SymExpr::symbol(fresh);
    } else {
      map[t] = symbol_for(e);
    }
  }
  if (is_wide() && a.lane_lines.empty()) a.stride = index.coefficient(lanes_.variable);
  a.index = index.substitute(map).substitute(names_.symbols).str();
  if (is_wide()) {
    map[lanes_.variable] = SymExpr::symbol(lanes_.variable) + SymExpr::symbol(kLane);
    a.lane_index = index.substitute(map).substitute(names_.symbols).str();
  }
  return a;
}

// "[&](int64_t l0) { return in0[...]; }"
std::string Values::per_lane(const Address& address, std::string_view what) const {
  std::string text = "[&](int64_t l0) { ";
  for (const std::string& line : address.lane_lines) text += line;
  return str_cat(text, "return ", what, "; }");
}

std::string Values::pointer(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) {
  return str_cat(names_.buffers.at(buffer), " + ", address(index, symbol_values).index);
}

std::string Values::load(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) {
  const std::string& b = names_.buffers.at(buffer);
  const std::string type = dialect_.type(program_.buffers[buffer].type.dtype, lanes_.width);
  if (const auto place = names_.places.find(buffer); place != names_.places.end())
    return str_cat(b, "[", place->second.str(), "]");
  const Address a = address(index, symbol_values);
  const std::string element = names_.variables.contains(buffer) ? b : str_cat(b, "[", a.index, "]");
  if (!is_wide()) return element;
  if (a.stride == 0) return str_cat("td_set<", type, ">(", element, ")");
  if (a.stride == 1) return str_cat("td_load<", type, ">(", b, " + ", a.index, ")");
  return str_cat("td_lanes<", type, ">(", per_lane(a, str_cat(b, "[", a.lane_index, "]")), ")");
}

void Values::store(int buffer, const SymExpr& index, std::span<const Expr> symbol_values,
                   std::string_view value) {
  const std::string& b = names_.buffers.at(buffer);
  if (const auto place = names_.places.find(buffer); place != names_.places.end())
    return writer_.line(str_cat(b, "[", place->second.str(), "] = ", value, ";"));
  const Address a = address(index, symbol_values);
  if (names_.variables.contains(buffer))
    writer_.line(str_cat(b, " = ", value, ";"));
  else if (!is_wide())
    writer_.line(str_cat(b, "[", a.index, "] = ", value, ";"));
  else if (a.stride == 1)
    writer_.line(str_cat("td_store(", b, " + ", a.index, ", ", value, ");"));
  else
    writer_.line(str_cat("td_store_lanes(", per_lane(a, str_cat("&", b, "[", a.lane_index, "]")),
                         ", ", value, ");"));
}

}  // namespace inductor
