#include "torchdyn/capture/codegen.h"

#include <algorithm>

#include "torchdyn/bytecode/assemble.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/cpython/code_object.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

// Writes instructions in the running version's way.
class Codegen {
 public:
  Codegen(const Gil& gil, CodeView code)
      : gil_(gil), parts_(take_apart(gil, code)), code_(running_version(), code.first_line()) {
    const int line = code.first_line();
    position_ = {line, line, -1, -1};
    own_slots_ = code.slots() - code.free_slots();
    slots_ = code.arguments();
    if (code.free_slots() > 0) emit(Opcode::COPY_FREE_VARS, code.free_slots());
    emit(Opcode::RESUME);
  }

  void emit(Opcode op, uint32_t arg = 0) {
    code_.instructions.push_back({.op = op, .arg = arg, .position = position_});
  }

  void constant(PyBorrow object) { emit(Opcode::LOAD_CONST, index_in(&constants_, object)); }

  void load(const Source& source) {
    switch (source.kind()) {
      case Source::Kind::kLocal:
        return emit(Opcode::LOAD_FAST, source.slot());
      case Source::Kind::kClosure:  // locals of ours come before the free variables
        return emit(Opcode::LOAD_DEREF, source.slot() - free_moved_by());
      case Source::Kind::kGlobal:
      case Source::Kind::kBuiltin:
        return emit(Opcode::LOAD_GLOBAL, index_in(&names_, source.name()) << 1);
      case Source::Kind::kMember:
        load(*source.base());
        return emit(Opcode::LOAD_ATTR, name_argument(source.name()));
      case Source::Kind::kItem:
        load(*source.base());
        constant(source.name());
        return emit(Opcode::BINARY_SUBSCR);
      case Source::Kind::kElement:
        load(*source.base());
        constant(owned(PyLong_FromLong(source.slot())));
        return emit(Opcode::BINARY_SUBSCR);
      case Source::Kind::kTypeMember:
        load(*source.base());
        emit(Opcode::LOAD_ATTR, name_argument(name("__class__")));
        return emit(Opcode::LOAD_ATTR, name_argument(source.name()));
      case Source::Kind::kPart:
      case Source::Kind::kCell:
        load(*source.base());
        return emit(Opcode::LOAD_ATTR, name_argument(source.name()));
    }
  }

  // callable(arguments...): what loads them comes in between.
  void begin_call(PyBorrow callable) {
    const bool null_first = running_version() < PythonVersion::k3_13;
    if (null_first) emit(Opcode::PUSH_NULL);
    constant(callable);
    if (!null_first) emit(Opcode::PUSH_NULL);
  }
  void end_call(uint32_t count) {
    if (running_version() == PythonVersion::k3_11) emit(Opcode::PRECALL, count);
    emit(Opcode::CALL, count);
  }

  // The one local of ours, after the arguments.
  uint32_t own_slot() const { return slots_; }

  PyRef finish() {
    auto assembled = assemble(code_);
    TD_CHECK(assembled.ok(), assembled.status().message());
    parts_.bytes = std::move(assembled->bytes);
    parts_.stack_size = assembled->stack_size;
    parts_.constants = tuple_of(constants_);
    parts_.names = tuple_of(names_);
    std::vector<PyRef> locals;
    for (const PyBorrow local : items_of(parts_.locals))
      if (locals.size() < slots_) locals.push_back(PyRef::to(local));
    locals.push_back(name("results"));
    parts_.locals = tuple_of(locals);
    parts_.cells = tuple_of({});
    return make_code(gil_, parts_);
  }

 private:
  static uint32_t index_in(std::vector<PyRef>* objects, PyBorrow object) {
    const auto found = std::find_if(objects->begin(), objects->end(),
                                    [&](const PyRef& o) { return PyBorrow(o) == object; });
    if (found != objects->end()) return static_cast<uint32_t>(found - objects->begin());
    objects->push_back(PyRef::to(object));
    return static_cast<uint32_t>(objects->size() - 1);
  }

  uint32_t name_argument(PyBorrow name) {
    const uint32_t index = index_in(&names_, name);
    return operand(Opcode::LOAD_ATTR, running_version()) == Operand::kFlaggedName ? index << 1
                                                                                  : index;
  }

  // The frame's own locals and cells are gone, one local of ours has come.
  uint32_t free_moved_by() const { return own_slots_ - (slots_ + 1); }

  const Gil& gil_;
  CodeParts parts_;
  Bytecode code_;
  Position position_;
  uint32_t own_slots_;  // before the free variables', in the frame's own code
  uint32_t slots_;
  std::vector<PyRef> constants_, names_;
};

// Leaves the value on the stack. `made` are lists and dicts that are there: others of the result
// would have to be the same ones.
void make(Codegen& code, const std::vector<VarRef>& results, std::vector<VarRef>* made,
          const VarRef& value) {
  if (value->source()) return code.load(*value->source());
  const auto* const dict = dynamic_cast<const DictVariable*>(value.get());
  const auto* const sequence = dynamic_cast<const SequenceVariable*>(value.get());
  if (dict || (sequence && sequence->is_list())) {
    if (std::find(made->begin(), made->end(), value) != made->end())
      break_graph(BreakReason::kResult, "one " + value->type_name() + " at two places");
    made->push_back(value);
  }
  if (dict) {
    for (const auto& [key, item] : dict->entries()) {
      code.constant(key->object());
      make(code, results, made, item);
    }
    return code.emit(Opcode::BUILD_MAP, static_cast<uint32_t>(dict->entries().size()));
  }
  if (const auto* items = value->items()) {
    for (const VarRef& item : *items) make(code, results, made, item);
    return code.emit(sequence->is_list() ? Opcode::BUILD_LIST : Opcode::BUILD_TUPLE,
                     static_cast<uint32_t>(items->size()));
  }
  const auto result = std::find(results.begin(), results.end(), value);
  if (result != results.end()) {
    code.emit(Opcode::LOAD_FAST, code.own_slot());
    code.constant(owned(PyLong_FromLong(result - results.begin())));
    return code.emit(Opcode::BINARY_SUBSCR);
  }
  if (!value->object()) break_graph(BreakReason::kResult, value->type_name());
  code.constant(value->object());
}

}  // namespace

PyRef replacement_code(const Gil& gil, CodeView original,
                       const std::vector<OutputGraph::Input>& inputs, PyBorrow compiled,
                       const std::vector<VarRef>& results, const VarRef& result) {
  Codegen code(gil, original);
  code.begin_call(compiled);
  for (const OutputGraph::Input& input : inputs) code.load(*input.source);
  code.end_call(static_cast<uint32_t>(inputs.size()));
  code.emit(Opcode::STORE_FAST, code.own_slot());
  std::vector<VarRef> made;
  make(code, results, &made, result);
  code.emit(Opcode::RETURN_VALUE);
  return code.finish();
}

}  // namespace torchdyn
