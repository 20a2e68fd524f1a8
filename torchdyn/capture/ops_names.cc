// Locals, globals and attributes.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

void load_fast(Translator& t, const Instruction& i) { t.push(t.load(i.arg)); }

void load_two(Translator& t, const Instruction& i) {
  t.push(t.load(i.arg >> 4));
  t.push(t.load(i.arg & 15));
}

void store_fast(Translator& t, const Instruction& i) { t.store(i.arg, t.pop()); }

void store_then_load(Translator& t, const Instruction& i) {
  t.store(i.arg >> 4, t.pop());
  t.push(t.load(i.arg & 15));
}

void store_two(Translator& t, const Instruction& i) {
  t.store(i.arg >> 4, t.pop());
  t.store(i.arg & 15, t.pop());
}

void delete_fast(Translator& t, const Instruction& i) {
  (void)t.load(i.arg);
  t.store(i.arg, nullptr);
}

// Where a call may follow, NULL says that this is no method: before the callable until 3.12, after
// it from 3.13 on.
void push_callable(Translator& t, VarRef value, bool with_null) {
  const bool null_first = t.version() < PythonVersion::k3_13;
  if (with_null && null_first) t.push(nullptr);
  t.push(std::move(value));
  if (with_null && !null_first) t.push(nullptr);
}

// CPython: Python/bytecodes.c, LOAD_GLOBAL.
VarRef global_named(Translator& t, const std::string& name) {
  if (VarRef written = t.globals_source() ? nullptr : t.effects().global(name)) return written;
  const SourceRef global =
      t.globals_source() ? Source::item(t.globals_source(), name) : Source::global(name);
  if (const PyBorrow value = global->read(t.frame())) return wrap(t, value, global);
  t.guards().add(global, Absent{});
  const SourceRef builtin = Source::builtin(name);
  const PyBorrow value = builtin->read(t.frame());
  if (!value) raise(t, PyBorrow(PyExc_NameError), str_cat("name '", name, "' is not defined"));
  return wrap(t, value, builtin);
}

void load_global(Translator& t, const Instruction& i) {
  push_callable(t, global_named(t, t.name_of(i)), (i.arg & 1) != 0);
}

// A method is bound here, where CPython leaves function and object apart.
void load_attribute(Translator& t, const Instruction& i) {
  const bool before_call = operand(i.op, t.version()) == Operand::kFlaggedName && (i.arg & 1) != 0;
  const VarRef object = t.pop();
  push_callable(t, protocol::get_attribute(t, object, t.name_of(i)),
                before_call || i.op == Opcode::LOAD_METHOD);
}

// CPython: Python/bytecodes.c, LOAD_SUPER_ATTR: super(type, self).name.
void load_super_attribute(Translator& t, const Instruction& i) {
  const VarRef self = t.pop(), type = t.pop(), super = t.pop();
  if (super->object().get() != reinterpret_cast<PyObject*>(&PySuper_Type))
    break_graph(BreakReason::kAttribute, "another super");
  push_callable(t, super_attribute(t, type, self, t.name_of(i)), (i.arg & 1) != 0);
}

void load_assertion_error(Translator& t, const Instruction&) {
  t.push(std::make_shared<ObjectVariable>(
      PyRef::to(PyBorrow(PyExc_AssertionError)),
      Source::fixed(PyBorrow(PyExc_AssertionError), "AssertionError")));
}

void store_global(Translator& t, const Instruction& i) {
  if (t.globals_source()) break_graph(BreakReason::kSideEffect, "a global of another module");
  t.effects().set_global(t.name_of(i), t.pop());
}

void store_attribute(Translator& t, const Instruction& i) {
  const VarRef object = t.pop(), value = t.pop();
  protocol::set_attribute(t, object, t.name_of(i), value);
}

void delete_attribute(Translator& t, const Instruction& i) {
  const VarRef object = t.pop();
  delete_attribute_of_object(t, object, t.name_of(i));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::DELETE_ATTR, delete_attribute},
    {Opcode::LOAD_FAST, load_fast},
    {Opcode::LOAD_FAST_CHECK, load_fast},
    {Opcode::LOAD_FAST_LOAD_FAST, load_two},
    {Opcode::STORE_FAST, store_fast},
    {Opcode::STORE_FAST_LOAD_FAST, store_then_load},
    {Opcode::STORE_FAST_STORE_FAST, store_two},
    {Opcode::DELETE_FAST, delete_fast},
    {Opcode::LOAD_GLOBAL, load_global},
    {Opcode::LOAD_SUPER_ATTR, load_super_attribute},
    {Opcode::LOAD_ASSERTION_ERROR, load_assertion_error},
    {Opcode::STORE_GLOBAL, store_global},
    {Opcode::LOAD_ATTR, load_attribute},
    {Opcode::STORE_ATTR, store_attribute},
    {Opcode::LOAD_METHOD, load_attribute},
};

}  // namespace

const std::span<const OpcodeRow> kNameOps = kRows;

}  // namespace torchdyn
