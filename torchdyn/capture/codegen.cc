#include "torchdyn/capture/codegen.h"

#include "torchdyn/capture/code_writer.h"
#include "torchdyn/cpython/objects.h"

namespace torchdyn {

PyRef returning_code(const Gil& gil, const Translator& t, PyBorrow compiled,
                     const std::vector<VarRef>& results, const VarRef& result) {
  CodeWriter w(gil, t.outermost().code);
  if (compiled) w.call_graph(t.graph(), compiled, results);
  if (const auto mode = t.changed_grad_mode()) w.set_grad_mode(*mode);
  w.keep(result);
  w.fill();
  t.effects().write(w);
  w.value(result);
  w.emit(Opcode::RETURN_VALUE);
  return w.finish();
}

PyRef raising_code(const Gil& gil, CodeView code, const std::string& message) {
  CodeWriter w(gil, code);
  w.begin_call(PyBorrow(PyExc_RuntimeError));
  w.constant(name(message));
  w.end_call(1);
  w.emit(Opcode::RAISE_VARARGS, 1);
  return w.finish();
}

}  // namespace torchdyn
