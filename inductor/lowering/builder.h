// What lowering functions build with: the program so far, and where each graph value lies in it.
//   Nest nest = b.nest(type.sizes);                       // for i0 < ... for i1 < ...
//   Expr x = b.load(b.ref(node, "self"), nest.vars);      // broadcast as ATen does
//   b.store(node.output(0), nest, value);                 // a new buffer of the output's layout
#pragma once

#include <string_view>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/numerics.h"
#include "aten_bridge/graph/graph.h"
#include "inductor/ir/loop.h"

namespace inductor {

// Loops to be put around one leaf, outermost first.
struct Nest {
  struct Level {
    SymExpr extent;
    LoopKind kind;
  };
  std::vector<Level> levels;
  std::vector<SymExpr> vars;  // one a level; 0 where the extent is 1
};

class Builder {
 public:
  explicit Builder(const aten_bridge::Graph& graph,
                   aten_bridge::Numerics numerics = aten_bridge::Numerics::kDefault);

  ExprPool& pool() { return program_.pool; }
  // Whether what has not eager's bits is to be left to ATen.
  bool keeps_eagers_bits() const { return numerics_ == aten_bridge::Numerics::kEager; }
  LoopProgram take() { return std::move(program_); }

  // ---- Arguments ----
  const TensorRef& ref(aten_bridge::Value value) const;
  const TensorRef& ref(const aten_bridge::Node& node, std::string_view arg) const;
  DType dtype(const TensorRef& ref) const { return program_.buffers[ref.buffer].type.dtype; }
  bool is_input(int buffer) const { return program_.buffers[buffer].role == BufferRole::kInput; }

  // ---- Loops ----
  Nest nest(const std::vector<SymExpr>& sizes);
  // A level of the kind `kind` is added inside; returns its variable.
  SymExpr add_level(Nest& nest, SymExpr extent, LoopKind kind);
  // The element at a place of a larger shape: dimensions are aligned at the right, and a size of 1
  // stands for any. Every dimension of `ref` must be among `at`.
  Expr load(const TensorRef& ref, std::span<const SymExpr> at);
  // As load, where the index at `dim` is read at run time; clamped into the dimension.
  Expr load_at(const TensorRef& ref, std::vector<SymExpr> at, std::vector<int> dims,
               std::vector<Expr> places);
  // Where element `at` of a reference lies in its buffer.
  SymExpr address(const TensorRef& ref, std::span<const SymExpr> at) const;
  // An int64 value, kept inside [0, size).
  Expr clamped(Expr place, const SymExpr& size);

  // ---- Results ----
  int new_buffer(const aten_bridge::TensorType& type);
  TensorRef new_ref(const aten_bridge::TensorType& type);
  void define(aten_bridge::Value value, TensorRef ref);
  // One nest around one leaf.
  void emit(const Nest& nest, Stmt leaf);
  // Casts `value` to the buffer's dtype and stores it at element nest.vars of `to`.
  void emit_store(const TensorRef& to, const Nest& nest, Expr value);
  // A new buffer of the output's layout that holds `value` at each element of `nest`.
  void store(aten_bridge::Value output, const Nest& nest, Expr value);
  void extern_call(const aten_bridge::Node& node);

  // Statements emitted from here on stem from this operator of the user's program.
  void set_origin(std::string origin) { origin_ = std::move(origin); }
  void set_outputs(const std::vector<std::optional<aten_bridge::Value>>& outputs);

 private:
  std::string unused_name();

  aten_bridge::Numerics numerics_;
  LoopProgram program_;
  HashMap<aten_bridge::Value, TensorRef> refs_;
  std::string origin_;
  int next_buffer_ = 0;
};

}  // namespace inductor
