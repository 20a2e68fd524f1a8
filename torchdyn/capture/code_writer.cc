#include "torchdyn/capture/code_writer.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/assemble.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

std::vector<PyRef> refs(PyBorrow tuple) {
  std::vector<PyRef> items;
  for (const PyBorrow item : items_of(tuple)) items.push_back(PyRef::to(item));
  return items;
}

uint32_t index_in(std::vector<PyRef>* objects, PyBorrow object) {
  const auto found = std::find_if(objects->begin(), objects->end(),
                                  [&](const PyRef& o) { return PyBorrow(o) == object; });
  if (found != objects->end()) return static_cast<uint32_t>(found - objects->begin());
  objects->push_back(PyRef::to(object));
  return static_cast<uint32_t>(objects->size() - 1);
}

}  // namespace

CodeWriter::CodeWriter(const Gil& gil, CodeView code)
    : gil_(gil),
      parts_(take_apart(gil, code)),
      code_(running_version(), code.first_line()),
      position_{code.first_line(), code.first_line(), -1, -1},
      locals_(code.locals()),
      constants_(refs(parts_.constants)),
      names_(refs(parts_.names)) {
  if (code.free_slots() > 0) emit(Opcode::COPY_FREE_VARS, code.free_slots());
  emit(Opcode::RESUME);
}

// ---- Instructions
// ----------------------------------------------------------------------------------

Instruction& CodeWriter::emit(Opcode op, uint32_t arg) {
  return code_.instructions.emplace_back(Instruction{.op = op, .arg = arg, .position = position_});
}

Instruction& CodeWriter::emit_slot(Opcode op, int slot) { return emit_slot(op, slot, false); }

Instruction& CodeWriter::emit_slot(Opcode op, int slot, bool is_temporary) {
  Instruction& made = emit(op, static_cast<uint32_t>(slot));
  if (!is_temporary && slot >= locals_) moved_.push_back(&made);
  return made;
}

Instruction& CodeWriter::jump(Opcode op) { return emit(op); }

void CodeWriter::place(Instruction& jump) { jump.target = &emit(Opcode::NOP); }

const ExceptionHandler* CodeWriter::handler(int depth, bool keeps_index) {
  return &code_.handlers.emplace_back(ExceptionHandler{nullptr, depth, keeps_index});
}

void CodeWriter::place(const ExceptionHandler* handler) {
  for (ExceptionHandler& mine : code_.handlers)
    if (&mine == handler) mine.target = &emit(Opcode::NOP);
}

void CodeWriter::constant(PyBorrow object) {
  emit(Opcode::LOAD_CONST, index_in(&constants_, object));
}

uint32_t CodeWriter::name_argument(PyBorrow name) {
  const uint32_t index = index_in(&names_, name);
  return operand(Opcode::LOAD_ATTR, running_version()) == Operand::kFlaggedName ? index << 1
                                                                                : index;
}

void CodeWriter::attribute(PyBorrow name) { emit(Opcode::LOAD_ATTR, name_argument(name)); }

void CodeWriter::store_attribute(PyBorrow name) {
  emit(Opcode::STORE_ATTR, index_in(&names_, name));
}

void CodeWriter::store_global(PyBorrow name) {
  emit(Opcode::STORE_GLOBAL, index_in(&names_, name));
}

void CodeWriter::load(const Source& source) {
  switch (source.kind()) {
    case Source::Kind::kLocal:
      emit_slot(Opcode::LOAD_FAST, source.slot());
      return;
    case Source::Kind::kClosure:
      emit_slot(Opcode::LOAD_DEREF, source.slot());
      return;
    case Source::Kind::kGlobal:
    case Source::Kind::kBuiltin:
      emit(Opcode::LOAD_GLOBAL, index_in(&names_, source.name()) << 1);
      return;
    case Source::Kind::kItem:
      if (source.base()->kind() == Source::Kind::kContents) return load_from_contents(source);
      load(*source.base());
      constant(source.name());
      emit(Opcode::BINARY_SUBSCR);
      return;
    case Source::Kind::kKeyed:
      load(*source.base());
      constant(source.object());
      emit(Opcode::BINARY_SUBSCR);
      return;
    case Source::Kind::kElement:
      load(*source.base());
      constant(owned(PyLong_FromLong(source.slot())));
      emit(Opcode::BINARY_SUBSCR);
      return;
    case Source::Kind::kTypeMember:
      load(*source.base());
      attribute(name("__class__"));
      return attribute(source.name());
    case Source::Kind::kBaseMember:
      load(*source.base());
      attribute(name("__mro__"));
      constant(owned(PyLong_FromLong(source.slot())));
      emit(Opcode::BINARY_SUBSCR);
      attribute(name("__dict__"));
      constant(source.name());
      emit(Opcode::BINARY_SUBSCR);
      return;
    case Source::Kind::kContextValue:
      return call_method(*source.base(), "get");
    case Source::Kind::kReferent:
      return call(*source.base());
    case Source::Kind::kContents:
    case Source::Kind::kSetter:
    case Source::Kind::kUnwrapped:
      break_graph(BreakReason::kRebuild, source.text());
    case Source::Kind::kModule:
      constant(PyBorrow(PyImport_GetModuleDict()));
      constant(source.name());
      emit(Opcode::BINARY_SUBSCR);
      return;
    case Source::Kind::kFixed:
      return constant(source.object());
    case Source::Kind::kDict:
    case Source::Kind::kMember:
    case Source::Kind::kClassMember:
    case Source::Kind::kClassOrder:
    case Source::Kind::kSlotMember:
    case Source::Kind::kTypeOf:
    case Source::Kind::kPart:
    case Source::Kind::kCell:
      load(*source.base());
      return attribute(source.name());
  }
}

// callable().
void CodeWriter::call(const Source& callable) {
  const bool null_first = running_version() < PythonVersion::k3_13;
  if (null_first) emit(Opcode::PUSH_NULL);
  load(callable);
  if (!null_first) emit(Opcode::PUSH_NULL);
  end_call(0);
}

void CodeWriter::call_method(const Source& object, const char* method) {
  const bool null_first = running_version() < PythonVersion::k3_13;
  if (null_first) emit(Opcode::PUSH_NULL);
  load(object);
  attribute(name(method));
  if (!null_first) emit(Opcode::PUSH_NULL);
  end_call(0);
}

// dict.__getitem__(object, name): its class may have another.
void CodeWriter::load_from_contents(const Source& item) {
  begin_call(
      owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "__getitem__")));
  load(*item.base()->base());
  constant(item.name());
  end_call(2);
}

void CodeWriter::begin_call(PyBorrow callable) {
  const bool null_first = running_version() < PythonVersion::k3_13;
  if (null_first) emit(Opcode::PUSH_NULL);
  constant(callable);
  if (!null_first) emit(Opcode::PUSH_NULL);
}

void CodeWriter::begin_call(const VarRef& callable) {
  const bool null_first = running_version() < PythonVersion::k3_13;
  if (null_first) emit(Opcode::PUSH_NULL);
  value(callable);
  if (!null_first) emit(Opcode::PUSH_NULL);
}

void CodeWriter::end_call(uint32_t count) {
  if (running_version() == PythonVersion::k3_11) emit(Opcode::PRECALL, count);
  emit(Opcode::CALL, count);
}

// ---- Values
// ----------------------------------------------------------------------------------------

int CodeWriter::given_slot(CodeView code) { return code.locals(); }

void CodeWriter::call_graph(const OutputGraph& graph, PyBorrow compiled,
                            const std::vector<VarRef>& results) {
  const auto& inputs = graph.inputs();
  begin_call(compiled);
  if (graph.are_inputs_given()) {
    const int given = temporary();
    TD_CHECK(given == 0, "the inputs are in the first temporary");
    load_temporary(given);
    emit_slot(Opcode::DELETE_FAST, locals_ + given, true);
    emit(Opcode::CALL_FUNCTION_EX, 0);
  } else {
    for (const OutputGraph::Input& input : inputs) load(*input.source);
    end_call(static_cast<uint32_t>(inputs.size()));
  }
  emit(Opcode::UNPACK_SEQUENCE, static_cast<uint32_t>(results.size()));
  for (const VarRef& result : results) {
    const int made = temporary();
    store_temporary(made);
    made_.emplace(result.get(), made);
    owners_.push_back(result);
  }
}

void CodeWriter::set_grad_mode(bool is_on) {
  begin_call(import_attribute(gil_, "torch._C", "_set_grad_enabled"));
  constant(PyBorrow(is_on ? Py_True : Py_False));
  end_call(1);
  emit(Opcode::POP_TOP);
}

void CodeWriter::value(const VarRef& value) {
  if (const auto known = made_.find(value.get()); known != made_.end())
    return load_temporary(known->second);
  if (dynamic_cast<const CellVariable*>(value.get())) return cell(value);
  if (value->source()) return load(*value->source());
  if (dynamic_cast<const ConstantVariable*>(value.get())) return constant(value->object());
  value->rebuild(*this);
  emit(Opcode::COPY, 1);
  load_made(value);
  if (dynamic_cast<const InstanceVariable*>(value.get())) unfilled_.push_back(value);
}

// What is on the stack becomes the value.
void CodeWriter::load_made(const VarRef& value) {
  const int made = temporary();
  store_temporary(made);
  made_.emplace(value.get(), made);
  owners_.push_back(value);
}

void CodeWriter::keep(const VarRef& value) {
  if (made_.contains(value.get())) return;
  if (!value->source() && dynamic_cast<const ConstantVariable*>(value.get())) return;
  this->value(value);
  if (made_.contains(value.get())) {
    emit(Opcode::POP_TOP);
  } else {
    load_made(value);
  }
}

// A cell from outside is where its content is found.
void CodeWriter::cell(const VarRef& value) {
  const SourceRef& content = value->source();
  if (content && content->kind() == Source::Kind::kCell) return load(*content->base());
  if (content) {
    const bool is_pseudo = running_version() >= PythonVersion::k3_13;
    emit_slot(is_pseudo ? Opcode::LOAD_FAST : Opcode::LOAD_CLOSURE, content->slot());
    return;
  }
  begin_call(PyBorrow(reinterpret_cast<PyObject*>(&PyCell_Type)));
  end_call(0);
  emit(Opcode::COPY, 1);
  load_made(value);
  unfilled_.push_back(value);
}

void CodeWriter::fill() {
  while (!unfilled_.empty()) {
    const VarRef made = std::move(unfilled_.back());
    unfilled_.pop_back();
    if (const auto* const instance = dynamic_cast<const InstanceVariable*>(made.get())) {
      instance->fill(*this);
      continue;
    }
    const VarRef& content = static_cast<const CellVariable&>(*made).content();
    if (!content) continue;
    value(content);
    value(made);
    store_attribute(name("cell_contents"));
  }
}

void CodeWriter::value_of(const Variable& made) { load_temporary(made_.at(&made)); }

PyRef CodeWriter::finish() {
  for (Instruction* i : moved_) i->arg += static_cast<uint32_t>(temporaries_);
  auto assembled = assemble(code_);
  TD_CHECK(assembled.ok(), assembled.status().message());
  parts_.bytes = std::move(assembled->bytes);
  parts_.stack_size = assembled->stack_size;
  parts_.constants = tuple_of(constants_);
  parts_.names = tuple_of(names_);
  std::vector<PyRef> locals = refs(parts_.locals);
  for (int n = 0; n < temporaries_; ++n)
    locals.push_back(name(aten_bridge::str_cat("temporary ", n)));
  parts_.locals = tuple_of(locals);
  return make_code(gil_, parts_);
}

}  // namespace torchdyn
