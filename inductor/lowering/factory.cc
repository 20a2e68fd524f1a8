// Tensors made of numbers. What eager leaves uninitialised is zero here.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/place.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

Verdict fill(Builder& b, const Node& node, const std::function<Term(Elementwise&)>& value) {
  if (!node.outputs[0] || !is_computed(node.outputs[0]->dtype))
    return Verdict::no("an element type without kernels");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term term = value(e);
  if (!term) return Verdict::no("not filled by a real number");
  b.store(node.output(0), nest, term.expr);
  return Verdict::yes();
}

Verdict zeros(Builder& b, const Node& node) {
  return fill(b, node, [](Elementwise& e) { return e.number(0); });
}
Verdict ones(Builder& b, const Node& node) {
  return fill(b, node, [](Elementwise& e) { return e.number(1); });
}
Verdict full(Builder& b, const Node& node) {
  return fill(b, node, [](Elementwise& e) { return e["fill_value"]; });
}
Verdict fill_with(Builder& b, const Node& node) {
  return fill(b, node, [](Elementwise& e) { return e["value"]; });
}
Verdict scalar_tensor(Builder& b, const Node& node) {
  return fill(b, node, [](Elementwise& e) { return e["s"]; });
}

// start + step * i: in int64 for integers, in double for floating dtypes, as ATen does.
Verdict arange(Builder& b, const Node& node) {
  if (!node.outputs[0] || !is_computed(node.outputs[0]->dtype))
    return Verdict::no("an element type without kernels");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const DType dtype = is_floating(node.outputs[0]->dtype) ? DType::kFloat64 : DType::kInt64;
  Elementwise e(b, node, nest, dtype);
  const auto number = [&](std::string_view name, double otherwise) {
    for (const auto& arg : node.args)
      if (arg.name == name) return e[name];
    return e.number(otherwise);
  };
  const Term place = cast(dtype, {&b.pool(), b.pool().index(nest.vars[0])});
  const Term value = number("start", 0) + number("step", 1) * place;
  if (!value) return Verdict::no("not a range of real numbers");
  b.store(node.output(0), nest, value.expr);
  return Verdict::yes();
}

// Numbers at equal distances, counted from the nearer end.
Term line(Builder& b, const Node& node, const Nest& nest, Elementwise& e) {
  const DType of_integers = e.on_cuda() ? DType::kFloat32 : DType::kFloat64;
  const DType dtype = is_floating(e.common()) ? compute_dtype(e.common()) : of_integers;
  // A tensor's value is read as it is: only integers are converted to the result's dtype first.
  const auto bound = [&](std::string_view name) {
    return cast(dtype, is_floating(e.common()) ? e.raw(name) : e[name]);
  };
  const Term start = bound("start"), end = bound("end");
  const SymExpr& steps = node.outputs[0]->sizes[0];
  if (steps == SymExpr(1)) return start;
  const auto whole = [&](const SymExpr& value) { return cast(dtype, index_term(b, value)); };
  const Term step = (end - start) / whole(steps - 1);
  const SymExpr& i = nest.vars[0];
  return select(index_term(b, i - floor_div(steps, 2)) < 0.0, start + step * whole(i),
                end - step * whole(steps - 1 - i));
}

Verdict spaced(Builder& b, const Node& node, const std::function<Term(Elementwise&, Term)>& of) {
  if (!node.outputs[0] || !is_computed(node.outputs[0]->dtype))
    return Verdict::no("an element type without kernels");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term value = of(e, line(b, node, nest, e));
  if (!value) return Verdict::no("not between real numbers");
  b.store(node.output(0), nest, value.expr);
  return Verdict::yes();
}
Verdict linspace(Builder& b, const Node& node) {
  return spaced(b, node, [](Elementwise&, Term at) { return at; });
}
Verdict logspace(Builder& b, const Node& node) {
  return spaced(b, node, [](Elementwise& e, Term at) {
    return at ? pow(number(at, e.real("base")), at) : at;
  });
}

constexpr LoweringRow kRows[] = {
    {"aten::zeros", kPointwise, zeros},
    {"aten::zeros_like", kPointwise, zeros},
    {"aten::new_zeros", kPointwise, zeros},
    {"aten::zero", kPointwise, zeros},
    {"aten::empty.memory_format", kPointwise, zeros},
    {"aten::empty_like", kPointwise, zeros},
    {"aten::empty_strided", kPointwise, zeros},
    {"aten::empty_permuted", kPointwise, zeros},
    {"aten::new_empty", kPointwise, zeros},
    {"aten::new_empty_strided", kPointwise, zeros},
    {"aten::ones", kPointwise, ones},
    {"aten::ones_like", kPointwise, ones},
    {"aten::new_ones", kPointwise, ones},
    {"aten::full", kPointwise, full},
    {"aten::full_like", kPointwise, full},
    {"aten::new_full", kPointwise, full},
    {"aten::fill.Scalar", kPointwise, fill_with},
    {"aten::fill.Tensor", kPointwise, fill_with},
    {"aten::scalar_tensor", kPointwise, scalar_tensor},
    {"aten::arange", kPointwise, arange},
    {"aten::arange.start", kPointwise, arange},
    {"aten::arange.start_step", kPointwise, arange},
    {"aten::linspace", kPointwise, linspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::linspace.Tensor_Tensor", kPointwise, linspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::linspace.Tensor_Scalar", kPointwise, linspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::linspace.Scalar_Tensor", kPointwise, linspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::logspace", kPointwise, logspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::logspace.Tensor_Tensor", kPointwise, logspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::logspace.Tensor_Scalar", kPointwise, logspace, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::logspace.Scalar_Tensor", kPointwise, logspace, {.cpu = "bhfd", .cuda = "bhfd"}},
};

}  // namespace

LoweringRows factory_rows() { return kRows; }

}  // namespace inductor
