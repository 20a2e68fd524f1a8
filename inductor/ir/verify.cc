#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/text.h"
#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

struct Violation {
  std::string what;
};

template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) throw Violation{str_cat(parts...)};
}

class Verifier {
 public:
  explicit Verifier(const LoopProgram& program) : program_(program) {}

  void run() {
    buffers();
    written_.resize(program_.buffers.size());
    require(program_.origins.empty() || program_.origins.size() == program_.body.size(),
            "as many origins as statements");
    for (int input : program_.inputs) written_[input] = true;
    for (const Stmt& stmt : program_.body) check(stmt, /*in_kernel=*/false);
    for (size_t b = 0; b < written_.size(); ++b)
      require(written_[b] || role(b) != BufferRole::kOutput, name(b),
              " is returned, never written");
  }

 private:
  BufferRole role(int buffer) const { return program_.buffers[buffer].role; }
  const std::string& name(int buffer) const { return program_.buffers[buffer].name; }

  void is_buffer(int buffer) const {
    require(buffer >= 0 && buffer < static_cast<int>(program_.buffers.size()), "no buffer ",
            buffer);
  }

  void buffers() const {
    HashSet<std::string> names;
    for (const Buffer& b : program_.buffers) {
      require(names.insert(b.name).second, "two buffers named ", b.name);
      require(b.type.sizes.size() == b.type.strides.size(), b.name, ": strides unlike sizes");
    }
    const auto inputs = std::count_if(program_.buffers.begin(), program_.buffers.end(),
                                      [](auto& b) { return b.role == BufferRole::kInput; });
    require(inputs == static_cast<int>(program_.inputs.size()), "inputs and their buffers differ");
    for (int input : program_.inputs) {
      is_buffer(input);
      require(role(input) == BufferRole::kInput, name(input), " is not an input");
    }
    for (const auto& output : program_.outputs) {
      if (!output) continue;
      reference(*output);
      require(
          role(output->buffer) == BufferRole::kInput || role(output->buffer) == BufferRole::kOutput,
          name(output->buffer), " is returned, yet not an output");
    }
  }

  void reference(const TensorRef& ref) const {
    is_buffer(ref.buffer);
    require(ref.sizes.size() == ref.strides.size(), "a reference's strides unlike its sizes");
    const TensorType& type = program_.buffers[ref.buffer].type;
    const auto size = storage_size({type.dtype, type.device, ref.sizes, ref.strides});
    const auto all = storage_size(type);
    if (!size || !all || !ref.offset.is_constant() || *size == 0) return;
    require(ref.offset.as_constant() >= 0 && ref.offset.as_constant() + *size <= *all,
            "a reference leaves ", name(ref.buffer));
  }

  void check(const Stmt& stmt, bool in_kernel) {
    std::visit(overloaded{
                   [&](const Loop& loop) { check_loop(loop, in_kernel); },
                   [&](const Kernel& kernel) {
                     require(!in_kernel && loops_.empty(), "a kernel inside another statement");
                     for (const Stmt& inner : kernel.body) check(inner, true);
                   },
                   [&](const Store& s) { check_store(s); },
                   [&](const Reduce& r) { check_reduce(r); },
                   [&](const Scatter& s) { check_scatter(s); },
                   [&](const ExternCall& call) {
                     require(!in_kernel && loops_.empty(), "a call inside a loop or kernel");
                     check_call(call);
                   },
               },
               stmt);
  }

  void check_loop(const Loop& loop, bool in_kernel) {
    require(loop.var.kind == 'i', "a loop's variable is i0, i1, ...");
    require(loop.var.index < program_.next_var, "next_var is behind ",
            SymExpr::symbol(loop.var).str());
    for (const Loop* outer : loops_)
      require(outer->var != loop.var, "a loop variable is reused inside");
    symbols(loop.extent, 0);
    require(!loop.body.empty(), "an empty loop");
    loops_.push_back(&loop);
    for (const Stmt& inner : loop.body) check(inner, in_kernel);
    loops_.pop_back();
  }

  void check_store(const Store& s) {
    leaf(s.buffer, s.index, {}, s.value);
    for (const Loop* loop : loops_) written_once(*loop, s.buffer, s.index);
  }

  void check_reduce(const Reduce& r) {
    leaf(r.buffer, r.index, {}, r.value);
    accumulates(r.value.dtype(), r.op);
    bool reduces = false;
    for (const Loop* loop : loops_) {
      if (loop->kind == LoopKind::kReduction && !r.index.mentions(loop->var))
        reduces = true;
      else
        written_once(*loop, r.buffer, r.index);
    }
    require(reduces, "a reduction into ", name(r.buffer), " without a reduction loop");
  }

  void check_scatter(const Scatter& s) {
    require(written_[s.buffer], "a scatter into ", name(s.buffer), " before it is written");
    leaf(s.buffer, s.index, s.symbol_values, s.value);
    accumulates(s.value.dtype(), s.op);
    for (Expr value : s.symbol_values) expression(value);
    for (const Loop* loop : loops_)
      if (loop->kind == LoopKind::kSerial) written_once(*loop, s.buffer, s.index);
  }

  // Iterations of a loop write different elements; locals are private to an iteration.
  void written_once(const Loop& loop, int buffer, const SymExpr& index) const {
    if (role(buffer) == BufferRole::kLocal || loop.extent == SymExpr(1)) return;
    require(index.mentions(loop.var), "iterations of ", SymExpr::symbol(loop.var).str(),
            " write the same element of ", name(buffer));
  }

  static void accumulates(DType dtype, ReduceOp op) {
    require(compute_dtype(dtype) == dtype, "accumulation in ", to_string(dtype));
    require(dtype != DType::kBool || op == ReduceOp::kMax || op == ReduceOp::kMin,
            "a sum or product of bool");
  }

  void leaf(int buffer, const SymExpr& index, std::span<const Expr> symbol_values, Expr value) {
    is_buffer(buffer);
    require(role(buffer) != BufferRole::kInput, name(buffer), " is an input, yet written");
    require(static_cast<bool>(value), "no value for ", name(buffer));
    require(value.dtype() == program_.buffers[buffer].type.dtype, name(buffer), " is ",
            to_string(program_.buffers[buffer].type.dtype), ", the value ",
            to_string(value.dtype()));
    expression(value);
    inside(buffer, index, symbol_values);
    written_[buffer] = true;
  }

  void expression(Expr root) const {
    for_each_node({&root, 1}, [&](Expr e) {
      require(is_computed(e.dtype()), "scalar code of dtype ", to_string(e.dtype()));
      switch (e.op()) {
        case ScalarOp::constant:
          break;
        case ScalarOp::index:
          symbols(e.index(), 0);
          break;
        case ScalarOp::cast:
          break;
        case ScalarOp::load:
          is_buffer(e.buffer());
          require(written_[e.buffer()], name(e.buffer()), " is read before it is written");
          require(e.dtype() == program_.buffers[e.buffer()].type.dtype, "a load of ",
                  name(e.buffer()), " as ", to_string(e.dtype()));
          inside(e.buffer(), e.index(), e.args());
          break;
        default:
          break;  // checked against the table when it was made
      }
    });
  }

  // Symbols in scope: sizes, variables of the loops around, t0 ... t(values-1).
  void symbols(const SymExpr& e, int values) const {
    for (Symbol s : e.symbols()) {
      const bool in_scope =
          s.kind == 's' || (s.kind == 't' && s.index < values) ||
          std::any_of(loops_.begin(), loops_.end(), [&](const Loop* l) { return l->var == s; });
      require(in_scope, SymExpr::symbol(s).str(), " is not in scope");
    }
  }

  void inside(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) const {
    symbols(index, static_cast<int>(symbol_values.size()));
    const auto size = storage_size(program_.buffers[buffer].type);
    const bool executed = std::none_of(loops_.begin(), loops_.end(),
                                       [](const Loop* loop) { return loop->extent == SymExpr(0); });
    if (!size || !executed) return;
    const Bounds b = bounds_of(index, symbol_values, loops_);
    require(b.low >= 0 && b.high < *size, name(buffer), "[", index.str(), "] may be ", b.low,
            " to ", b.high, " of ", *size);
  }

  void check_call(const ExternCall& call) {
    for (const TensorRef& ref : tensor_args(call)) {
      reference(ref);
      require(written_[ref.buffer], name(ref.buffer), " is read before it is written");
    }
    for (const auto& output : call.outputs) {
      if (!output) continue;
      is_buffer(*output);
      require(!written_[*output], name(*output), " is written twice");
      written_[*output] = true;
    }
  }

  const LoopProgram& program_;
  std::vector<bool> written_;
  std::vector<const Loop*> loops_;
};

}  // namespace

absl::Status verify(const LoopProgram& program) {
  try {
    Verifier(program).run();
  } catch (const Violation& violation) {
    return absl::InternalError(violation.what);
  }
  return absl::OkStatus();
}

}  // namespace inductor
