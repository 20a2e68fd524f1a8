// Bytecode of code objects: as text, from text, changed.
#include <stdexcept>

#include "aten_bridge/base/str_cat.h"
#include "tests/torchdyn/cpython/functions.h"
#include "torchdyn/bytecode/adjacent.h"
#include "torchdyn/bytecode/assemble.h"
#include "torchdyn/bytecode/disassemble.h"
#include "torchdyn/bytecode/liveness.h"
#include "torchdyn/bytecode/stack_size.h"
#include "torchdyn/bytecode/text.h"
#include "torchdyn/cpython/code_object.h"

namespace torchdyn::testing {
namespace {

using aten_bridge::str_cat;

template <class T>
T value(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(std::string(result.status().message()));
  return std::move(*result);
}

PyRef text(const std::string& t) {
  return owned(PyUnicode_FromStringAndSize(t.data(), static_cast<Py_ssize_t>(t.size())));
}

CodeView only_code(PyObject* args) {
  PyObject* code = nullptr;
  read_arguments(args, "O!", &PyCode_Type, &code);
  return CodeView::of(PyBorrow(code));
}

std::string repr(PyObject* object) { return PyUnicode_AsUTF8(owned(PyObject_ASCII(object)).get()); }

// Names and constants beside what stands for them.
std::string annotation(CodeView code, const Instruction& i) {
  const auto slot = [&](uint32_t s) { return std::string(code.slot_name(static_cast<int>(s))); };
  switch (const Operand kind = operand(i.op, running_version())) {
    case Operand::kConstant:
      return repr(PyTuple_GET_ITEM(code.constants().get(), i.arg));
    case Operand::kName:
    case Operand::kFlaggedName:
    case Operand::kTwiceFlaggedName:
      return PyUnicode_AsUTF8(
          PyTuple_GET_ITEM(code.names().get(), name_index(kind, static_cast<int>(i.arg))));
    case Operand::kLocal:
    case Operand::kCell:
      return slot(i.arg);
    case Operand::kTwoLocals:
      return str_cat(slot(i.arg >> 4), ", ", slot(i.arg & 15));
    default:
      return "";
  }
}

PyRef like(const Gil& gil, CodeView code, const Bytecode& bytecode, PyRef constants = PyRef()) {
  Assembled assembled = value(assemble(bytecode));
  CodeParts parts = take_apart(gil, code);
  parts.bytes = std::move(assembled.bytes);
  parts.stack_size = assembled.stack_size;
  if (constants) parts.constants = std::move(constants);
  return make_code(gil, parts);
}

PyRef disassembled(const Gil& gil, PyObject* args) {
  const CodeView code = only_code(args);
  return text(print_bytecode(value(disassemble(bytes_of(gil, code))),
                             [&](const Instruction& i) { return annotation(code, i); }));
}

// assembled(text, code): a code object like that one.
PyRef assembled(const Gil& gil, PyObject* args) {
  const char* source = nullptr;
  PyObject* code = nullptr;
  read_arguments(args, "sO!", &source, &PyCode_Type, &code);
  return like(gil, CodeView::of(PyBorrow(code)), value(parse_bytecode(source)));
}

// What differs after the round trip through instructions, and through text: "" if nothing does.
PyRef round_trip_difference(const Gil& gil, PyObject* args) {
  const CodeView code = only_code(args);
  const CodeBytes bytes = bytes_of(gil, code);
  const Bytecode bytecode = value(disassemble(bytes));
  const Assembled again = value(assemble(bytecode));
  const auto difference = [&](const CodeBytes& other) -> std::string {
    if (other.code != bytes.code) return "co_code";
    if (other.exception_table != bytes.exception_table) return "co_exceptiontable";
    return other.line_table != bytes.line_table ? "co_linetable" : "";
  };
  std::string found = difference(again.bytes);
  if (again.stack_size > code.get()->co_stacksize)
    found = str_cat("a stack of ", again.stack_size, ", not ", code.get()->co_stacksize);
  if (found.empty())
    found = difference(value(assemble(value(parse_bytecode(print_bytecode(bytecode))))).bytes);
  return text(found);
}

PyRef stack_size_of(const Gil& gil, PyObject* args) {
  return owned(
      PyLong_FromLong(value(stack_size(value(disassemble(bytes_of(gil, only_code(args))))))));
}

// With a NOP wherever one may stand.
PyRef padded(const Gil& gil, PyObject* args) {
  const CodeView code = only_code(args);
  Bytecode bytecode = value(disassemble(bytes_of(gil, code)));
  for (auto i = bytecode.instructions.begin(); i != bytecode.instructions.end(); ++i)
    if (may_insert(bytecode, i))
      bytecode.instructions.insert(
          i, {.op = Opcode::NOP, .handler = i->handler, .position = i->position});
  return like(gil, code, bytecode);
}

// What calls the last constant and drops the result, in this version.
std::vector<Instruction> call_constant(uint32_t constant) {
  const Instruction load{.op = Opcode::LOAD_CONST, .arg = constant};
  const Instruction null{.op = Opcode::PUSH_NULL};
  std::vector<Instruction> call;
  if (running_version() >= PythonVersion::k3_13) {
    call = {load, null};
  } else {
    call = {null, load};
  }
  if (running_version() == PythonVersion::k3_11) call.push_back({.op = Opcode::PRECALL});
  call.push_back({.op = Opcode::CALL});
  call.push_back({.op = Opcode::POP_TOP});
  return call;
}

PyRef with_appended(PyBorrow tuple, PyObject* item) {
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple.get());
  PyRef longer = owned(PyTuple_New(size + 1));
  for (Py_ssize_t i = 0; i <= size; ++i)
    PyTuple_SET_ITEM(longer.get(), i,
                     Py_NewRef(i < size ? PyTuple_GET_ITEM(tuple.get(), i) : item));
  return longer;
}

// calling_first(code, function): code that calls function() before anything else.
PyRef calling_first(const Gil& gil, PyObject* args) {
  PyObject *object = nullptr, *function = nullptr;
  read_arguments(args, "O!O", &PyCode_Type, &object, &function);
  const CodeView code = CodeView::of(PyBorrow(object));
  Bytecode bytecode = value(disassemble(bytes_of(gil, code)));
  auto place = bytecode.instructions.begin();
  while (place->op != Opcode::RESUME) ++place;
  const auto constant = static_cast<uint32_t>(PyTuple_GET_SIZE(code.constants().get()));
  for (Instruction& added : call_constant(constant)) {
    added.position = place->position;
    bytecode.instructions.insert(std::next(place), added);
    ++place;
  }
  return like(gil, code, bytecode, with_appended(code.constants(), function));
}

// [(opcode, [names of the slots that are live before it])]
PyRef live_slots(const Gil& gil, PyObject* args) {
  const CodeView code = only_code(args);
  const Bytecode bytecode = value(disassemble(bytes_of(gil, code)));
  const Liveness live(bytecode, {.slots = code.slots(), .free = code.free_slots()});
  PyRef rows = owned(PyList_New(0));
  for (const Instruction& i : bytecode.instructions) {
    PyRef names = owned(PyList_New(0));
    for (const int slot : live.before(i))
      PyList_Append(names.get(), text(std::string(code.slot_name(slot))).get());
    const PyRef name = text(std::string(opcode_name(i.op)));
    PyList_Append(rows.get(), owned(PyTuple_Pack(2, name.get(), names.get())).get());
  }
  return rows;
}

// [(name, number, caches, has an argument, is a jump)] of this version.
PyRef opcode_rows(const Gil&, PyObject*) {
  PyRef rows = owned(PyList_New(0));
  for (int i = 0; i < kOpcodes; ++i) {
    const auto op = static_cast<Opcode>(i);
    const auto number = opcode_number(op, running_version());
    if (!number) continue;
    const bool has_argument = operand(op, running_version()) != Operand::kNothing;
    PyList_Append(rows.get(),
                  owned(Py_BuildValue("siiNN", std::string(opcode_name(op)).c_str(), *number,
                                      cache_units(op, running_version()),
                                      PyBool_FromLong(has_argument), PyBool_FromLong(is_jump(op))))
                      .get());
  }
  return rows;
}

// effect_of(name, argument, jump)
PyRef effect_of(const Gil&, PyObject* args) {
  const char* name = nullptr;
  int arg = 0, jump = 0;
  read_arguments(args, "sip", &name, &arg, &jump);
  return owned(
      PyLong_FromLong(stack_effect(*opcode_named(name), running_version(), arg, jump != 0)));
}

}  // namespace

PyMethodDef kBytecodeFunctions[] = {
    {"disassembled", entry<disassembled>, METH_VARARGS, nullptr},
    {"assembled", entry<assembled>, METH_VARARGS, nullptr},
    {"round_trip_difference", entry<round_trip_difference>, METH_VARARGS, nullptr},
    {"stack_size_of", entry<stack_size_of>, METH_VARARGS, nullptr},
    {"padded", entry<padded>, METH_VARARGS, nullptr},
    {"calling_first", entry<calling_first>, METH_VARARGS, nullptr},
    {"live_slots", entry<live_slots>, METH_VARARGS, nullptr},
    {"opcode_rows", entry<opcode_rows>, METH_VARARGS, nullptr},
    {"effect_of", entry<effect_of>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace torchdyn::testing
