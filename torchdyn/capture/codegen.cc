#include "torchdyn/capture/codegen.h"

#include "torchdyn/capture/code_writer.h"

namespace torchdyn {

PyRef returning_code(const Gil& gil, CodeView code, const std::vector<OutputGraph::Input>& inputs,
                     PyBorrow compiled, const std::vector<VarRef>& results, const VarRef& result) {
  CodeWriter w(gil, code);
  w.call_graph(inputs, compiled, results);
  w.keep(result);
  w.fill_cells();
  w.value(result);
  w.emit(Opcode::RETURN_VALUE);
  return w.finish();
}

}  // namespace torchdyn
