// One kernel as C++: how loops_cpp.cc, reductions_cpp.cc and parallel_cpp.cc share what they know
// while they write it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "inductor/emit/kernel_text.h"
#include "inductor/emit/vector_shape.h"

namespace inductor {

class CppKernel : KernelText {
 public:
  CppKernel(const LoopProgram& program, const Kernel& kernel)
      : KernelText(program, kernel, cpp_dialect()) {}
  EmittedKernel emit();

 private:
  // Long float sums that keep a row: `iterations` of `loop` are added to a row of their own, on the
  // stack, then that to the target.
  struct Run {
    const Loop* loop;
    int64_t iterations;
    std::vector<const Loop*> inside;  // those that choose an element of the row
    SymExpr place;                    // in the row
  };

  // A reduction's running value: in registers, in the row of a run, or in its target.
  struct Accumulator {
    std::string name;  // empty: the target
    VectorShape shape;
    DType dtype;
    std::optional<Run> run;
    bool is_in_memory() const { return name.empty() || run; }
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
  std::string element(int buffer, const SymExpr& index) const;
  // Writes the line for every iteration of the loops, their variables named.
  void for_each_element(std::span<const Loop* const> loops, const std::function<void()>& write);
  void begin_run(const Loop& outermost, const Reduction& r);
  // Where an iteration of `loop` is the last of a run.
  void end_run(const Loop& loop, const Reduce& r);
  void reduce(const Reduce& r, Values& values, const Piece& piece);
  // In memory: the target or a row.
  void add(const Reduce& r, const SymExpr& index, Values& values, const Piece& piece,
           const std::string& value);
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
  HashMap<const Reduce*, Accumulator> accumulators_;
  std::vector<const Reduce*> begun_;  // in order, not yet ended
  int next_part_ = 0;
};

}  // namespace inductor
