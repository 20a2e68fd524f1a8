// The code of a frame that is cut: what was captured before an instruction that capture does not
// take, then that instruction, run by CPython, then the way to a resume function for each place
// where that instruction may lead: the next one, a jump's target, an exception's handler.
//   PyRef code = cut_code(gil, t, {inputs, compiled, results}, origin);
#pragma once

#include "torchdyn/capture/output_graph.h"
#include "torchdyn/capture/resume.h"
#include "torchdyn/capture/translator.h"

namespace torchdyn {

// What a frame's code is to the function that was cut: itself, or a resume function of it.
struct CodeOrigin {
  std::shared_ptr<Resumes> resumes;
  bool is_resumed;
  int prefix;       // instructions before the function's own
  int more_locals;  // between the function's locals and its cells
};

// Of the frame's values, those that a resume function needs, or the instruction itself.
std::vector<VarRef> needed_values(const Gil&, const Translator& t, const CodeOrigin& origin);

// `t` has stopped before the instruction. `compiled` is null where nothing was captured, and gives
// a tuple of `results`.
PyRef cut_code(const Gil&, const Translator& t, PyBorrow compiled,
               const std::vector<VarRef>& results, const CodeOrigin& origin);

}  // namespace torchdyn
