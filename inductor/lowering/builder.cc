#include "inductor/lowering/builder.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/call_text.h"

namespace inductor {

using aten_bridge::Node;
using aten_bridge::Value;

Builder::Builder(const aten_bridge::Graph& graph, aten_bridge::Numerics numerics)
    : numerics_(numerics) {
  program_.name = graph.name;
  for (Value input : graph.inputs()) {
    const int buffer = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back({input.node->name, input.type(), BufferRole::kInput});
    program_.inputs.push_back(buffer);
    refs_[input] = whole(buffer, input.type());
  }
}

const TensorRef& Builder::ref(Value value) const {
  const auto found = refs_.find(value);
  TD_CHECK(found != refs_.end(), "a value of ", value.node->op, " was not lowered");
  return found->second;
}

const TensorRef& Builder::ref(const Node& node, std::string_view arg) const {
  const auto* value = std::get_if<Value>(&node.arg(arg));
  TD_CHECK(value, node.op, ": ", arg, " is not a tensor");
  return ref(*value);
}

Nest Builder::nest(const std::vector<SymExpr>& sizes) {
  Nest nest;
  for (const SymExpr& size : sizes) add_level(nest, size, LoopKind::kSerial);
  return nest;
}

SymExpr Builder::add_level(Nest& nest, SymExpr extent, LoopKind kind) {
  // A loop that runs once is none; a reduction keeps its loops, since they define it.
  const bool once = extent == SymExpr(1) && kind == LoopKind::kSerial;
  const SymExpr var = once ? SymExpr(0) : SymExpr::symbol({'i', program_.next_var++});
  nest.levels.push_back({std::move(extent), kind});
  nest.vars.push_back(var);
  return var;
}

SymExpr Builder::address(const TensorRef& ref, std::span<const SymExpr> at) const {
  TD_CHECK(at.size() >= ref.sizes.size(), "too few indices");
  const size_t skipped = at.size() - ref.sizes.size();
  SymExpr address = ref.offset;
  for (size_t d = 0; d < ref.sizes.size(); ++d)
    if (ref.sizes[d] != SymExpr(1)) address += at[skipped + d] * ref.strides[d];
  return address;
}

Expr Builder::load(const TensorRef& ref, std::span<const SymExpr> at) {
  return pool().load(ref.buffer, address(ref, at), dtype(ref));
}

Expr Builder::clamped(Expr place, const SymExpr& size) {
  place = pool().apply(ScalarOp::maximum, {place, pool().integer(DType::kInt64, 0)});
  return pool().apply(ScalarOp::minimum, {place, pool().index(size - 1)});
}

Expr Builder::load_at(const TensorRef& ref, std::vector<SymExpr> at, std::vector<int> dims,
                      std::vector<Expr> places) {
  TD_CHECK(at.size() == ref.sizes.size(), "as many indices as dimensions");
  for (size_t n = 0; n < dims.size(); ++n) {
    places[n] = clamped(pool().cast(DType::kInt64, places[n]), ref.sizes[dims[n]]);
    at[dims[n]] = SymExpr::symbol({'t', static_cast<int>(n)});
  }
  // Not address(): a dimension of size 1 is indexed by 0, and its t would go unused.
  SymExpr address = ref.offset;
  for (size_t d = 0; d < ref.sizes.size(); ++d) address += at[d] * ref.strides[d];
  return pool().load(ref.buffer, address, dtype(ref), std::move(places));
}

std::string Builder::unused_name() {
  const auto taken = [&](const std::string& name) {
    return std::any_of(program_.inputs.begin(), program_.inputs.end(),
                       [&](int input) { return program_.buffers[input].name == name; });
  };
  for (;;) {
    std::string name = aten_bridge::str_cat("buf", next_buffer_++);
    if (!taken(name)) return name;
  }
}

int Builder::new_buffer(const TensorType& type) {
  program_.buffers.push_back({unused_name(), type, BufferRole::kTemporary});
  return static_cast<int>(program_.buffers.size()) - 1;
}

TensorRef Builder::new_ref(const TensorType& type) { return whole(new_buffer(type), type); }

void Builder::define(Value value, TensorRef ref) {
  const bool is_new = refs_.emplace(value, std::move(ref)).second;
  TD_CHECK(is_new, "a value of ", value.node->op, " is lowered twice");
}

void Builder::emit(const Nest& nest, Stmt leaf) {
  for (size_t n = nest.levels.size(); n-- > 0;) {
    const auto var = nest.vars[n].as_symbol();
    if (!var) continue;
    std::vector<Stmt> body;
    body.push_back(std::move(leaf));
    leaf = Loop{*var, nest.levels[n].extent, nest.levels[n].kind, false, false, std::move(body)};
  }
  program_.body.push_back(std::move(leaf));
  program_.origins.push_back(origin_);
}

void Builder::emit_store(const TensorRef& to, const Nest& nest, Expr value) {
  emit(nest, Store{to.buffer, address(to, nest.vars), pool().cast(dtype(to), value)});
}

void Builder::store(Value output, const Nest& nest, Expr value) {
  TensorRef to = new_ref(output.type());
  emit_store(to, nest, value);
  define(output, std::move(to));
}

void Builder::extern_call(const Node& node) {
  ExternCall call;
  call.op = node.op;
  for (const auto& [name, value] : node.args) {
    using RefList = std::vector<std::optional<TensorRef>>;
    call.args.emplace_back(
        name, std::visit(
                  [&](const auto& v) -> aten_bridge::ArgumentOf<TensorRef> {
                    using V = std::decay_t<decltype(v)>;
                    if constexpr (std::is_same_v<V, Value>) {
                      return ref(v);
                    } else if constexpr (std::is_same_v<V, std::vector<std::optional<Value>>>) {
                      RefList list;
                      for (const auto& item : v)
                        list.push_back(item ? std::optional(ref(*item)) : std::nullopt);
                      return list;
                    } else {
                      return v;
                    }
                  },
                  value));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    call.outputs.emplace_back();
    if (!node.outputs[i]) continue;
    TensorRef to = new_ref(*node.outputs[i]);
    call.outputs.back() = to.buffer;
    define(node.output(static_cast<int>(i)), std::move(to));
  }
  program_.body.push_back(std::move(call));
  program_.origins.push_back(origin_);
}

void Builder::set_outputs(const std::vector<std::optional<Value>>& outputs) {
  for (const auto& output : outputs) {
    program_.outputs.push_back(output ? std::optional(ref(*output)) : std::nullopt);
    if (!output) continue;
    BufferRole& role = program_.buffers[ref(*output).buffer].role;
    if (role == BufferRole::kTemporary) role = BufferRole::kOutput;
  }
}

}  // namespace inductor
