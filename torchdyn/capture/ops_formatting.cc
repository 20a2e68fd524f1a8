// f-strings, of constants.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/symbol.h"

namespace torchdyn {
namespace {

using Convert = PyObject* (*)(PyObject*);

// CPython: Include/ceval.h, FVC_STR, FVC_REPR, FVC_ASCII.
constexpr Convert kConversions[] = {nullptr, PyObject_Str, PyObject_Repr, PyObject_ASCII};

// Types say their names without running Python, unless a metatype says another.
PyRef formatted(const VarRef& given) {
  const VarRef value = fixed(given);
  if (PyRef known = protocol::as_constant(value)) return known;
  const PyBorrow object = value->object();
  if (object && Py_TYPE(object.get()) == &PyType_Type) return PyRef::to(object);
  break_graph(BreakReason::kFormat, value->type_name());
}

void push_text(Translator& t, PyObject* text) {
  t.push(std::make_shared<ConstantVariable>(owned(text)));
}

void guard_type_itself(Translator& t, const VarRef& value) {
  if (value->object() && PyType_Check(value->object().get())) t.guard_identity(*value);
}

void format(Translator& t, const VarRef& value, Convert convert, PyBorrow spec) {
  PyRef object = formatted(value);
  guard_type_itself(t, value);
  if (convert) object = owned(convert(object.get()));
  push_text(t, PyObject_Format(object.get(), spec.get()));
}

// CPython: Python/bytecodes.c, FORMAT_VALUE.
void format_value(Translator& t, const Instruction& i) {
  const VarRef spec = (i.arg & 4) != 0 ? t.pop() : nullptr;
  format(t, t.pop(), kConversions[i.arg & 3], spec ? spec->object() : PyBorrow());
}

void format_simple(Translator& t, const Instruction&) { format(t, t.pop(), nullptr, PyBorrow()); }

void format_with_spec(Translator& t, const Instruction&) {
  const VarRef spec = t.pop();
  format(t, t.pop(), nullptr, spec->object());
}

void convert_value(Translator& t, const Instruction& i) {
  const VarRef value = t.pop();
  guard_type_itself(t, value);
  push_text(t, kConversions[i.arg & 3](formatted(value).get()));
}

void build_string(Translator& t, const Instruction& i) {
  std::vector<PyRef> parts;
  for (const VarRef& part : t.pop(i.arg)) parts.push_back(PyRef::to(part->object()));
  push_text(t, PyUnicode_Join(name("").get(), tuple_of(parts).get()));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::FORMAT_VALUE, format_value},         {Opcode::FORMAT_SIMPLE, format_simple},
    {Opcode::FORMAT_WITH_SPEC, format_with_spec}, {Opcode::CONVERT_VALUE, convert_value},
    {Opcode::BUILD_STRING, build_string},
};

}  // namespace

const std::span<const OpcodeRow> kFormattingOps = kRows;

}  // namespace torchdyn
