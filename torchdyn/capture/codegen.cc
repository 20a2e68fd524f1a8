#include "torchdyn/capture/codegen.h"

#include "torchdyn/capture/code_writer.h"

namespace torchdyn {

PyRef returning_code(const Gil& gil, const Translator& t, PyBorrow compiled,
                     const std::vector<VarRef>& results, const VarRef& result) {
  CodeWriter w(gil, t.outermost().code);
  if (compiled) w.call_graph(t.inputs(), compiled, results);
  if (const auto mode = t.changed_grad_mode()) w.set_grad_mode(*mode);
  w.keep(result);
  w.fill();
  t.effects().write(w);
  w.value(result);
  w.emit(Opcode::RETURN_VALUE);
  return w.finish();
}

}  // namespace torchdyn
