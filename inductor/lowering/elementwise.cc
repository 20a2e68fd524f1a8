#include "inductor/lowering/elementwise.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/lowering/promote.h"

namespace inductor {

using aten_bridge::str_cat;

Term Elementwise::operator[](std::string_view arg) {
  const DType compute = compute_dtype(common_);
  const auto& value = node_.arg(arg);
  if (is_floating(common_) && !std::holds_alternative<Value>(value))
    if (const auto real = known(arg)) return number(*real);
  const Term own = raw(arg);
  if (!own || !std::holds_alternative<Value>(value)) return cast(compute, own);
  // Where the common dtype is narrower than what is computed in, the conversion to it rounds.
  return cast(compute, own.dtype() == common_ ? own : cast(common_, own));
}

Term Elementwise::operand(std::string_view arg) {
  const auto number_given = known(arg);
  if (!number_given || on_cuda() || compute_dtype(common_) == common_) return (*this)[arg];
  return number(ScalarValue::of(common_, *number_given).floating);
}

Term Elementwise::row(std::string_view arg) {
  const Term own{&builder_.pool(),
                 builder_.load(builder_.ref(node_, arg), std::span(nest_.vars).first(1))};
  return cast(compute_dtype(common_), cast(common_, own));
}

Term Elementwise::raw(std::string_view arg) {
  ExprPool& pool = builder_.pool();
  const auto& value = node_.arg(arg);
  if (const auto* tensor = std::get_if<Value>(&value))
    return {&pool, builder_.load(builder_.ref(*tensor), nest_.vars)};
  if (const auto* real = std::get_if<double>(&value))
    return {&pool, pool.constant(DType::kFloat64, *real)};
  if (const auto* truth = std::get_if<bool>(&value))
    return {&pool, pool.integer(DType::kBool, *truth)};
  if (const auto* size = std::get_if<SymExpr>(&value)) return {&pool, pool.index(*size)};
  return refuse();  // None, or a complex number
}

Term Elementwise::number(double value) {
  ExprPool& pool = builder_.pool();
  const DType compute = compute_dtype(common_);
  if (is_floating(compute)) return {&pool, pool.constant(compute, value)};
  return inductor::number({&pool, pool.integer(compute, 0)}, value);
}

bool Elementwise::on_cuda() const { return node_.outputs[0]->device.kind == Device::Kind::kCuda; }

bool Elementwise::forbids(RoundsOtherwise otherwise) const {
  return builder_.keeps_eagers_bits() && otherwise.on(common_, node_.outputs[0]->device.kind);
}

bool Elementwise::has(std::string_view arg) const {
  return !std::holds_alternative<std::monostate>(node_.arg(arg));
}

std::optional<double> Elementwise::known(std::string_view arg) const {
  const auto& value = node_.arg(arg);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* size = std::get_if<SymExpr>(&value))
    if (size->is_constant()) return static_cast<double>(size->as_constant());
  return std::nullopt;
}

double Elementwise::real(std::string_view arg) const {
  const auto value = known(arg);
  TD_CHECK(value, node_.op, ": ", arg, " is not a known number");
  return *value;
}

bool Elementwise::flag(std::string_view arg) const { return std::get<bool>(node_.arg(arg)); }

std::string_view Elementwise::text(std::string_view arg) const {
  const auto* text = std::get_if<std::string>(&node_.arg(arg));
  return text ? std::string_view(*text) : std::string_view();
}

Verdict is_plain(const Node& node) {
  if (node.outputs.empty() || !node.outputs[0]) return Verdict::no("no result");
  const auto check = [&](const TensorType& type) {
    if (!is_computed(type.dtype)) return Verdict::no("an element type without kernels");
    if (!(type.device == node.outputs[0]->device)) return Verdict::no("several devices");
    return Verdict::yes();
  };
  for (const auto& output : node.outputs)
    if (output)
      if (Verdict v = check(*output); !v) return v;
  for (Value input : node.inputs())
    if (Verdict v = check(input.type()); !v) return v;
  return Verdict::yes();
}

DType operands_dtype(const Node& node) {
  Promotion operands;
  for (const auto& arg : node.args) {
    if (const auto* tensor = std::get_if<Value>(&arg.value))
      operands.add_tensor(tensor->type().dtype, static_cast<int>(tensor->type().sizes.size()));
    if (std::holds_alternative<double>(arg.value)) operands.add_double();
    if (std::holds_alternative<SymExpr>(arg.value)) operands.add_int();
    if (std::holds_alternative<bool>(arg.value)) operands.add_bool();
  }
  return operands.result();
}

Verdict lower_pointwise(Builder& builder, const Node& node, Promote promote, Formula formula) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = builder.nest(node.outputs[0]->sizes);
  Elementwise e(builder, node, nest,
                promote == Promote::kToResult ? node.outputs[0]->dtype : operands_dtype(node));
  const Term value = formula(e);
  if (!value)
    return Verdict::no(str_cat("no formula on ", to_string(e.common()), " with these arguments"));
  if (builder.keeps_eagers_bits())
    if (Verdict v = has_eagers_bits(value.expr, e.common(), node.outputs[0]->device.kind); !v)
      return v;
  builder.store(node.output(0), nest, value.expr);
  return Verdict::yes();
}

}  // namespace inductor
