// One kernel as C++: how loops_cpp.cc, reductions_cpp.cc and parallel_cpp.cc share what they know
// while they write it.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "inductor/emit/emit.h"
#include "inductor/emit/kernel_arguments.h"
#include "inductor/emit/reductions.h"
#include "inductor/emit/values.h"
#include "inductor/emit/vector_shape.h"

namespace inductor {

std::string for_head(const std::string& name, const std::string& begin, const std::string& end,
                     const std::string& step);
inline SymExpr var(char kind, int index) { return SymExpr::symbol({kind, index}); }

class CppKernel {
 public:
  CppKernel(const LoopProgram& program, const Kernel& kernel);
  EmittedKernel emit();

 private:
  // A reduction's running value: in registers or in its target.
  struct Accumulator {
    std::string name;  // empty: in memory
    VectorShape shape;
  };

  std::string header() const;

  // Arguments
  std::string shape_text(const TensorType& type) const;
  void unpack();

  // Bodies
  // Statements in order; what they share is named once.
  void body(const std::vector<Stmt>& stmts);
  void declare_locals(const std::vector<Stmt>& stmts);
  // Whether the first statement that mentions a variable gives it its value in this very scope.
  bool is_defined_by_first_use(const std::vector<Stmt>& stmts, int b) const;
  void leaf(const Stmt& stmt, Values& values, const Piece& piece);
  DType dtype(int buffer) const;
  std::string combine(ReduceOp op, int buffer, int width, std::string a, std::string b) const;
  // What a Store or a Reduce leaves in its target.
  void store(int buffer, const SymExpr& index, Values& values, const std::string& text);

  // Loops
  void loop(const Loop& l);
  // Names a loop's variable by its depth.
  std::string enter(const Loop& l);
  void leave(const Loop& l);
  void innermost_loop(const Loop& l, const std::vector<Piece>& pieces);
  void straight(const Loop& l, const Piece& piece, const Values::Named& hoisted);
  Values::Named hoist(const Loop& l);

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

  inline static const Values::Named kNothingNamed;
  // Stands for the kernel's name until the text, and with it the name, is complete.
  static constexpr std::string_view kNameMark = "KERNEL_NAME";

  const LoopProgram& program_;
  const Kernel& kernel_;
  const KernelArguments arguments_;
  Names names_;
  Writer* writer_ = nullptr;
  std::string functions_;
  std::vector<const Loop*> around_;
  absl::flat_hash_map<const Reduce*, Accumulator> accumulators_;
  absl::flat_hash_set<int> undeclared_;  // variables whose first line is still to come
  int next_part_ = 0;
};

}  // namespace inductor
