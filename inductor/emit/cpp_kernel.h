// One kernel as C++: how loops_cpp.cc, reductions_cpp.cc and parallel_cpp.cc share what they know
// while they write it.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "inductor/emit/kernel_text.h"
#include "inductor/emit/vector_shape.h"

namespace inductor {

class CppKernel : KernelText {
 public:
  CppKernel(const LoopProgram& program, const Kernel& kernel)
      : KernelText(program, kernel, cpp_dialect()) {}
  EmittedKernel emit();

 private:
  // A reduction's running value: in registers or in its target.
  struct Accumulator {
    std::string name;  // empty: in memory
    VectorShape shape;
    DType dtype;
  };

  // Arguments
  void unpack_sizes();
  void unpack_buffers();

  // Bodies
  // Statements in order; what they share is named once.
  void body(const std::vector<Stmt>& stmts);
  void declare_locals(const std::vector<Stmt>& stmts);
  void leaf(const Stmt& stmt, Values& values, const Piece& piece);
  // What a Store or a Reduce leaves in its target.
  void store(int buffer, const SymExpr& index, Values& values, const std::string& text);

  // Loops
  void loop(const Loop& l);
  void innermost_loop(const Loop& l, const std::vector<Piece>& pieces);
  void straight(const Loop& l, const Piece& piece, const Values::Named& hoisted);

  // Reductions
  void begin_reduction(const Loop& outermost, const Reduction& r);
  // Sets every element that the loops inside choose.
  void fill(const Reduce& reduce, std::span<const Loop* const> inside, const std::string& value);
  void reduce(const Reduce& r, Values& values, const Piece& piece);
  std::string running(const Accumulator& acc, const Piece& piece) const;
  void end_reduction(const Reduction& r);

  // Parallel loops
  // Outlines a loop, and those perfectly inside that are parallel too, into a function over a
  // range.
  void parallel(const Loop& outer);
  // Iterations of a vector loop that one thread runs together: whole vectors, in any dtype.
  static int64_t block(const Loop& l);
  void parallel_blocks(const Loop& l);
  void parallel_range(const std::vector<const Loop*>& loops);

  std::string functions_;
  absl::flat_hash_map<const Reduce*, Accumulator> accumulators_;
  int next_part_ = 0;
};

}  // namespace inductor
