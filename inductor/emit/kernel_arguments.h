// What a kernel is given and what it makes for itself, and how the text names them.
//   KernelArguments a = kernel_arguments(program, kernel);
//   a.buffers == {4, 7};  a.names.at(4) == "in0";  a.names.at(7) == "out0"
// Names follow the order of first mention, so that equal loops give equal text.
#pragma once

#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "inductor/ir/loop.h"

namespace inductor {

struct KernelArguments {
  std::vector<int> buffers;         // in argument order
  std::vector<int> values;          // buffers of the host, which a GPU's kernel is given whole
  std::vector<Symbol> sizes;        // in argument order
  HashSet<int> written;             // of buffers
  HashMap<int, std::string> names;  // of all of them and of locals: in0, out0, host0, tmp0
  // Locals that are one value at a time: of one element, or indexed alike wherever they are used,
  // by loops around all of that.
  HashSet<int> variables;
  // The locals to declare at the start of a body: the innermost one that contains all their uses.
  HashMap<const Stmt*, std::vector<int>> locals_of;  // key: the body's first statement
};

KernelArguments kernel_arguments(const LoopProgram& program, const Kernel& kernel);

}  // namespace inductor
