// Functions in which frames go on that were cut at an instruction that capture does not take.
//   const int number = resumes.point(gil, {.instruction = 12, .is_null = {false, true}, ...});
//   resumes.codes[number]
//
// A resume function is the function that was cut, with another beginning: it puts what it takes
// where the function had it, and jumps. So it is captured as any function, and cut again at an
// instruction that is the function's own; a loop with a cut in it comes back to the same function.
#pragma once

#include <vector>

#include "torchdyn/bytecode/liveness.h"
#include "torchdyn/cpython/code_object.h"
#include "torchdyn/cpython/continuation.h"

namespace torchdyn {

// Where a frame goes on, as its own function's code has it.
struct ResumePoint {
  int instruction;             // its index
  std::vector<bool> is_bound;  // by slot, without free variables: of those that are needed
  std::vector<bool> is_null;   // by place on the stack

  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// What a resume function takes, in this order: a value for each local of the function that was cut
// (None where is_bound has no value), a cell for each slot of a cell alone, the stack without
// NULLs.
class Resumes : public ResumePoints {
 public:
  Resumes(const Gil&, CodeView function);

  // The number of the function that goes on there.
  int point(const Gil&, const ResumePoint& point);
  // Slots, without free variables, that the instruction or one after it may read.
  std::vector<bool> needed_at(int instruction) const;
  const Instruction& instruction(int index) const { return *order_.at(index); }

  // Of that function's code: instructions before the function's own, locals more than it has.
  int prefix(int number) const { return made_.at(number).prefix; }
  int more_locals(int number) const { return made_.at(number).more_locals; }

  int locals() const { return locals_; }
  int cells() const { return cells_; }  // of no local

 private:
  struct Made {
    ResumePoint point;
    int prefix, more_locals;
  };

  PyRef make(const Gil&, const ResumePoint& point);

  CodeParts parts_;
  Bytecode bytecode_;
  std::vector<const Instruction*> order_;
  Liveness liveness_;
  int locals_, cells_;
  std::vector<Made> made_;
};

}  // namespace torchdyn
