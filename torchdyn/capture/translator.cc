#include "torchdyn/capture/translator.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/disassemble.h"
#include "torchdyn/capture/gaps.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/cpython/code_object.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

Bytecode bytecode_of(const Gil& gil, CodeView code) {
  auto bytecode = disassemble(bytes_of(gil, code));
  if (!bytecode.ok()) break_graph(BreakReason::kOpcode, std::string(bytecode.status().message()));
  return std::move(*bytecode);
}

}  // namespace

Translator::Translator(const Gil& gil, const FrameView& frame)
    : gil_(gil), frame_(frame), graph_(gil) {
  begin(frame.code(), frame.globals(), nullptr);
}

VarRef Translator::run() { return run_innermost(); }

VarRef Translator::run_function(CodeView code, PyBorrow globals, SourceRef globals_source,
                                std::vector<VarRef> locals) {
  if (activations_.size() >= kMostActivations)
    break_graph(BreakReason::kDepth, std::string(code.name()));
  Activation& callee = begin(code, globals, std::move(globals_source));
  callee.locals = std::move(locals);
  callee.is_touched.assign(callee.is_touched.size(), true);
  VarRef result = run_innermost();
  activations_.pop_back();  // a break leaves them: callee_place() tells where it was
  return result;
}

Activation& Translator::begin(CodeView code, PyBorrow globals, SourceRef globals_source) {
  const DecodedCode& instructions = decoded(code);
  Activation& made =
      activations_.emplace_back(Activation{.code = code,
                                           .decoded = &instructions,
                                           .globals = globals,
                                           .globals_source = std::move(globals_source)});
  made.locals.resize(code.slots());
  made.is_touched.resize(code.slots());
  made.next = instructions.bytecode.instructions.begin();
  made.line = code.first_line();
  return made;
}

const DecodedCode& Translator::decoded(CodeView code) {
  auto& known = decoded_[code.get()];
  if (!known) {
    known.reset(new DecodedCode{bytecode_of(gil_, code), {}});
    const auto& instructions = known->bytecode.instructions;
    for (auto i = instructions.begin(); i != instructions.end(); ++i)
      known->places.try_emplace(&*i, i);
  }
  return *known;
}

VarRef Translator::run_innermost() {
  Activation& activation = current();
  const auto& instructions = activation.decoded->bytecode.instructions;
  while (!activation.result) {
    TD_CHECK(activation.next != instructions.end(), "a frame without a return");
    activation.at = &*activation.next++;
    if (has_stopped()) return nullptr;
    step(*activation.at);
  }
  return activation.result;
}

bool Translator::has_stopped() { return activations_.size() == 1 && ++steps_ == stop_; }

void Translator::run_to(int steps) {
  stop_ = steps;
  if (run_innermost()) break_graph(BreakReason::kRebuild, "capture goes another way each time");
}

std::string Translator::callee_place() const {
  if (activations_.size() == 1) return "";
  const std::string_view file = utf8(PyBorrow(code().get()->co_filename));
  return str_cat(code().name(), ", ", file, ":", current().line);
}

SourceRef Translator::canonical_globals(PyBorrow globals, SourceRef source) {
  if (globals == frame_.globals()) return nullptr;
  return globals_.try_emplace(globals.get(), std::move(source)).first->second;
}

void Translator::jump(const Instruction& target) {
  current().next = current().decoded->places.at(&target);
}

void Translator::step(const Instruction& i) {
  if (++instructions_ > kMostInstructions)
    break_graph(BreakReason::kLength, std::string(code().name()));
  if (i.position.line > 0) current().line = i.position.line;
  const Handler handler = handler_of(i.op);
  if (!handler) break_graph(gap_of(i.op), std::string(opcode_name(i.op)));
  handler(*this, i);
}

VarRef Translator::pop() {
  VarRef top = std::move(at_depth(1));
  current().stack.pop_back();
  return top;
}

std::vector<VarRef> Translator::pop(size_t count) {
  std::vector<VarRef>& stack = current().stack;
  TD_CHECK(count <= stack.size(), "the stack is empty");
  std::vector<VarRef> values(stack.end() - count, stack.end());
  stack.resize(stack.size() - count);
  return values;
}

VarRef& Translator::at_depth(size_t depth) {
  std::vector<VarRef>& stack = current().stack;
  TD_CHECK(depth <= stack.size(), "the stack is empty");
  return stack[stack.size() - depth];
}

VarRef Translator::load(uint32_t slot) {
  VarRef value = load_or_null(slot);
  if (!value) break_graph(BreakReason::kRaises, "a local variable that is not bound");
  return value;
}

VarRef Translator::load_or_null(uint32_t slot) {
  const PyBorrow given =
      current().is_touched.at(slot) ? PyBorrow() : frame_.local(static_cast<int>(slot));
  if (given)
    store(slot, wrap(*this, given,
                     Source::local(static_cast<int>(slot),
                                   frame_.code().slot_name(static_cast<int>(slot)))));
  return current().locals.at(slot);
}

VarRef Translator::cell(uint32_t slot) {
  VarRef& held = current().locals.at(slot);
  if (!held && static_cast<int>(slot) < code().arguments()) (void)load_or_null(slot);
  if (!held) {  // only the frame's own function is not given its cells
    const int at = static_cast<int>(slot);
    store(slot, cell_from_outside(frame_.local(at), Source::closure(at, code().slot_name(at))));
  }
  return held;
}

VarRef Translator::known(PyBorrow object, const SourceRef& source) {
  const auto known = found_.find(object.get());
  if (known == found_.end()) return nullptr;
  const SourceRef& first = known->second->source();
  if (*first != *source) guards_.add(source, Alias{first, true});
  return known->second;
}

VarRef Translator::found(VarRef variable, PyBorrow object) {
  effects_.found(object, variable->source());
  found_.try_emplace(object.get(), variable);
  return variable;
}

// Two variables are one where two functions share the cell: what leads to the cells is guarded.
VarRef Translator::cell_from_outside(PyBorrow cell, SourceRef content) {
  const auto known = found_.find(cell.get());
  if (known != found_.end()) {
    const SourceRef& first = known->second->source();
    if (*first != *content && first->base() && content->base())
      guards_.add(content->base(), Alias{first->base(), true});
    return known->second;
  }
  VarRef made = std::make_shared<CellVariable>(nullptr, std::move(content));
  found_.try_emplace(cell.get(), made);
  return made;
}

void Translator::store(uint32_t slot, VarRef value) {
  current().is_touched.at(slot) = true;
  current().locals.at(slot) = std::move(value);
}

std::string Translator::name_of(const Instruction& i) const {
  const int index = name_index(operand(i.op, version()), static_cast<int>(i.arg));
  return std::string(utf8(PyBorrow(PyTuple_GET_ITEM(code().names().get(), index))));
}

PyBorrow Translator::constant_of(const Instruction& i) const {
  return PyBorrow(PyTuple_GET_ITEM(code().constants().get(), i.arg));
}

VarRef Translator::input(PyBorrow tensor, SourceRef source) {
  for (const VarRef& known : tensors_)
    if (known->source() && *known->source() == *source) return known;
  if (VarRef known = this->known(tensor, source)) return known;
  PyRef node = graph_.add_input(gil_, source, tensor);
  return found(remember(std::make_shared<TensorVariable>(std::move(node), stand_in(gil_, tensor),
                                                         std::move(source))),
               tensor);
}

void Translator::guard_identity(const Variable& value) {
  if (!value.source() || !value.object()) return;
  auto same = Same::of(value.object());
  if (!same) break_graph(BreakReason::kValue, value.type_name());
  guards_.add(value.source(), std::move(*same));
}

void Translator::guard_type(const Variable& value) {
  if (!value.source() || !value.object()) return;  // tensors have guards of their own
  auto type = TypeIs::of(value.object());
  if (!type) break_graph(BreakReason::kValue, value.type_name());
  guards_.add(value.source(), *type);
}

VarRef Translator::remember(VarRef tensor) {
  tensors_.push_back(tensor);
  return tensor;
}

VarRef Translator::with_stand_in(PyBorrow like) const {
  for (const VarRef& tensor : tensors_)
    if (static_cast<const TensorVariable&>(*tensor).like() == like) return tensor;
  return nullptr;
}

}  // namespace torchdyn
