#include "tests/inductor/support/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "inductor/ir/follow.h"
#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"

namespace inductor::testing {
namespace {

ScalarValue make(DType dtype, double v) {
  return is_floating(dtype) ? ScalarValue::of(dtype, v)
                            : ScalarValue::of_integer(dtype, static_cast<int64_t>(v));
}

ScalarValue identity(ReduceOp op, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool integers = is_integral(dtype);
  switch (op) {
    case ReduceOp::kSum:
      return make(dtype, 0);
    case ReduceOp::kProd:
      return make(dtype, 1);
    case ReduceOp::kMax:
      if (dtype == DType::kBool || dtype == DType::kUInt8) return make(dtype, 0);
      return integers ? ScalarValue::of_integer(dtype,
                                                -(int64_t{1} << (8 * size_in_bytes(dtype) - 2)) * 2)
                      : make(dtype, -inf);
    case ReduceOp::kMin:
      if (dtype == DType::kBool) return make(dtype, 1);
      if (dtype == DType::kUInt8) return make(dtype, 255);
      return integers ? ScalarValue::of_integer(
                            dtype, ((int64_t{1} << (8 * size_in_bytes(dtype) - 2)) - 1) * 2 + 1)
                      : make(dtype, inf);
  }
  TD_CHECK(false, "no identity");
}

ScalarValue combine(ReduceOp op, const ScalarValue& a, const ScalarValue& b) {
  constexpr ScalarOp kOps[] = {ScalarOp::add, ScalarOp::mul, ScalarOp::maximum, ScalarOp::minimum};
  const ScalarValue args[] = {a, b};
  return evaluate(kOps[static_cast<int>(op)], args);
}

class Interpreter {
 public:
  Interpreter(const LoopProgram& program, const std::vector<Array>& inputs, const CallExtern& call)
      : program_(program), call_(call) {
    for (const Buffer& b : program.buffers) arrays_.push_back(zeros(b.type));
    written_.resize(arrays_.size());
    for (size_t a = 0; a < arrays_.size(); ++a) written_[a].resize(arrays_[a].data.size());
    TD_CHECK(inputs.size() == program.inputs.size(), "as many arrays as inputs");
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int b = program.inputs[i];
      TD_CHECK(inputs[i].data.size() == arrays_[b].data.size(), "an input of another size");
      arrays_[b] = inputs[i];
      written_[b].assign(written_[b].size(), true);
    }
  }

  std::vector<Array> run() {
    block(program_.body);
    std::vector<Array> results;
    for (const auto& output : program_.outputs)
      results.push_back(output ? gather(*output) : Array{});
    return results;
  }

 private:
  void block(const std::vector<Stmt>& body) {
    for (const Stmt& s : body) execute(s);
  }

  void execute(const Stmt& stmt) {
    std::visit(overloaded{
                   [&](const Loop& loop) { repeat(loop); },
                   [&](const Kernel& kernel) { block(kernel.body); },
                   [&](const Store& s) {
                     if (is_second_pass_) return;
                     at(s.buffer, s.index, {}) = value_of(s.value);
                     mark(s.buffer, s.index, {});
                   },
                   [&](const Reduce& r) {
                     if (follows(r) != is_second_pass_) return;
                     mark(r.buffer, r.index, {});
                     ScalarValue& to = at(r.buffer, r.index, {});
                     to = combine(r.op, to, value_of(r.value));
                   },
                   [&](const Scatter& s) {
                     ScalarValue& to = at(s.buffer, s.index, s.symbol_values);
                     TD_CHECK(written_[s.buffer][place(s.buffer, s.index, s.symbol_values)],
                              "scattered into before it is written");
                     to = combine(s.op, to, value_of(s.value));
                   },
                   [&](const ExternCall& call) { run_call(call); },
               },
               stmt);
  }

  void repeat(const Loop& loop) {
    if (loop.kind == LoopKind::kReduction) {
      for_each_leaf({loop.body}, [&](std::span<const Loop* const> inside, const Stmt& leaf) {
        const auto* reduce = std::get_if<Reduce>(&leaf);
        if (reduce && starts(loop, *reduce)) initialise(*reduce, inside);
      });
    }
    walk(loop);
    // What follows an extremum is meant of the complete one.
    if (is_second_pass_ || !any_follows(loop)) return;
    is_second_pass_ = true;
    walk(loop);
    is_second_pass_ = false;
  }

  void walk(const Loop& loop) {
    around_.push_back(&loop);
    const int64_t count = value_of(loop.extent, {});
    for (int64_t i = 0; i < count; ++i) {
      vars_[loop.var] = i;
      block(loop.body);
    }
    vars_.erase(loop.var);
    around_.pop_back();
  }

  // Whether a Reduce of the loop that is being walked over follows another one.
  bool follows(const Reduce& r) const {
    return !around_.empty() && leader_of(around_.back()->body, r) != nullptr;
  }
  // Where a loop starts what is followed, or at its own start.
  bool any_follows(const Loop& loop) const {
    bool any = false;
    for_each_leaf({loop.body}, [&](std::span<const Loop* const> inside, const Stmt& leaf) {
      const auto* reduce = std::get_if<Reduce>(&leaf);
      const auto& body = inside.empty() ? loop.body : inside.back()->body;
      any |= reduce && starts(loop, *reduce) && leader_of(body, *reduce);
    });
    return any;
  }

  // A Reduce starts from its identity where the outermost loop that it reduces over starts.
  bool starts(const Loop& loop, const Reduce& reduce) const {
    const auto over = [&](const Loop* l) {
      return l->kind == LoopKind::kReduction && !reduce.index.mentions(l->var);
    };
    return over(&loop) && std::none_of(around_.begin(), around_.end(), over);
  }

  // Every element that the loops inside choose.
  void initialise(const Reduce& reduce, std::span<const Loop* const> inside) {
    if (inside.empty()) {
      at(reduce.buffer, reduce.index, {}) = identity(reduce.op, reduce.value.dtype());
      mark(reduce.buffer, reduce.index, {});
      return;
    }
    const Loop& loop = *inside.front();
    const int64_t count = reduce.index.mentions(loop.var) ? value_of(loop.extent, {}) : 1;
    for (int64_t i = 0; i < count; ++i) {
      vars_[loop.var] = i;
      initialise(reduce, inside.subspan(1));
    }
    vars_.erase(loop.var);
  }

  int64_t value_of(const SymExpr& e, std::span<const Expr> symbol_values) {
    return e.evaluate([&](Symbol s) -> int64_t {
      if (s.kind == 't') return value_of(symbol_values[s.index]).integer;
      auto found = vars_.find(s);
      TD_CHECK(found != vars_.end(), "unknown symbol ", SymExpr::symbol(s).str());
      return found->second;
    });
  }

  int64_t place(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) {
    const int64_t where = value_of(index, symbol_values);
    TD_CHECK(where >= 0 && where < static_cast<int64_t>(arrays_[buffer].data.size()),
             program_.buffers[buffer].name, "[", where, "] is outside");
    return where;
  }

  ScalarValue& at(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) {
    return arrays_[buffer].data[place(buffer, index, symbol_values)];
  }
  void mark(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) {
    written_[buffer][place(buffer, index, symbol_values)] = true;
  }

  ScalarValue value_of(Expr e) {
    aten_bridge::HashMap<const ExprNode*, ScalarValue> done;
    const Expr roots[] = {e};
    for_each_node(roots, [&](Expr n) { done[n.node()] = compute(n, done); });
    return done[e.node()];
  }

  ScalarValue compute(Expr e, const aten_bridge::HashMap<const ExprNode*, ScalarValue>& done) {
    switch (e.op()) {
      case ScalarOp::constant:
        return is_floating(e.dtype()) ? ScalarValue::of(e.dtype(), e.floating())
                                      : ScalarValue::of_integer(e.dtype(), e.integer());
      case ScalarOp::index:
        return ScalarValue::of_integer(DType::kInt64, value_of(e.index(), {}));
      case ScalarOp::load: {
        const int64_t where = place(e.buffer(), e.index(), e.args());
        TD_CHECK(written_[e.buffer()][where], program_.buffers[e.buffer()].name, "[", where,
                 "] is read before it is written");
        return arrays_[e.buffer()].data[where];
      }
      case ScalarOp::cast: {
        const auto converted = convert(done.at(e.args()[0].node()), e.dtype());
        // What C++ leaves undefined is the least integer on x86.
        return converted ? *converted : ScalarValue::of_integer(e.dtype(), INT64_MIN);
      }
      default: {
        std::vector<ScalarValue> args;
        for (Expr arg : e.args()) args.push_back(done.at(arg.node()));
        return evaluate(e.op(), args);
      }
    }
  }

  Array gather(const TensorRef& ref) {
    Array result = zeros({program_.buffers[ref.buffer].type.dtype,
                          {},
                          ref.sizes,
                          aten_bridge::contiguous_strides(ref.sizes)});
    for (size_t n = 0; n < result.data.size(); ++n) {
      int64_t rest = static_cast<int64_t>(n), where = value_of(ref.offset, {});
      for (int d = static_cast<int>(ref.sizes.size()) - 1; d >= 0; --d) {
        const int64_t size = value_of(ref.sizes[d], {});
        where += rest % size * value_of(ref.strides[d], {});
        rest /= size;
      }
      TD_CHECK(written_[ref.buffer][where], program_.buffers[ref.buffer].name, "[", where,
               "] is returned, never written");
      result.data[n] = arrays_[ref.buffer].data[where];
    }
    return result;
  }

  void run_call(const ExternCall& call) {
    TD_CHECK(call_, "no reference for ", call.op);
    std::vector<Array> args;
    for (const TensorRef& ref : tensor_args(call)) args.push_back(gather(ref));
    const std::vector<Array> results = call_(call, args);
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (!call.outputs[i]) continue;
      const int b = *call.outputs[i];
      TD_CHECK(results[i].data.size() == arrays_[b].data.size(), "a result of another size");
      arrays_[b].data = results[i].data;
      written_[b].assign(written_[b].size(), true);
    }
  }

  const LoopProgram& program_;
  const CallExtern& call_;
  std::vector<Array> arrays_;
  std::vector<std::vector<bool>> written_;
  aten_bridge::HashMap<Symbol, int64_t> vars_;
  std::vector<const Loop*> around_;
  bool is_second_pass_ = false;  // over what follows an extremum
};

}  // namespace

bool Array::operator==(const Array& other) const {
  if (data.size() != other.data.size()) return false;
  for (size_t i = 0; i < data.size(); ++i) {
    const ScalarValue &a = data[i], &b = other.data[i];
    const bool both_nan = std::isnan(a.floating) && std::isnan(b.floating) && a.dtype == b.dtype;
    if (!both_nan && !same_bits(a, b)) return false;
  }
  return true;
}

Array zeros(const TensorType& type) {
  const auto size = storage_size(type);
  TD_CHECK(size, "a symbolic size");
  return {type, std::vector<ScalarValue>(*size, make(type.dtype, 0))};
}

Array random_array(const TensorType& type, unsigned seed, bool specials) {
  Array array = zeros(type);
  std::mt19937 random(seed);
  for (ScalarValue& v : array.data) {
    const int n = static_cast<int>(random() % 33) - 16;
    v = make(type.dtype, is_floating(type.dtype) ? n / 8.0 : n);
    if (!specials || !is_floating(type.dtype)) continue;
    constexpr double kSpecials[] = {NAN, INFINITY, -INFINITY, -0.0};
    if (random() % 8 == 0) v = make(type.dtype, kSpecials[random() % 4]);
  }
  return array;
}

std::vector<Array> evaluate(const LoopProgram& program, const std::vector<Array>& inputs,
                            const CallExtern& call) {
  return Interpreter(program, inputs, call).run();
}

}  // namespace inductor::testing
