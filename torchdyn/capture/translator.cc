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
    : gil_(gil),
      frame_(frame),
      code_(bytecode_of(gil, frame.code())),
      graph_(gil),
      locals_(frame.code().slots()),
      is_touched_(frame.code().slots()),
      line_(frame.code().first_line()) {}

VarRef Translator::run() {
  next_ = code_.instructions.begin();
  while (!result_) {
    TD_CHECK(next_ != code_.instructions.end(), "a frame without a return");
    step(*next_++);
  }
  return result_;
}

void Translator::jump(const Instruction& target) {
  while (next_ != code_.instructions.end() && &*next_ != &target) ++next_;
}

void Translator::step(const Instruction& i) {
  if (i.position.line > 0) line_ = i.position.line;
  const Handler handler = handler_of(i.op);
  if (!handler) break_graph(gap_of(i.op), std::string(opcode_name(i.op)));
  handler(*this, i);
}

VarRef Translator::pop() {
  VarRef top = std::move(at_depth(1));
  stack_.pop_back();
  return top;
}

std::vector<VarRef> Translator::pop(size_t count) {
  TD_CHECK(count <= stack_.size(), "the stack is empty");
  std::vector<VarRef> values(stack_.end() - count, stack_.end());
  stack_.resize(stack_.size() - count);
  return values;
}

VarRef& Translator::at_depth(size_t depth) {
  TD_CHECK(depth <= stack_.size(), "the stack is empty");
  return stack_[stack_.size() - depth];
}

VarRef Translator::load(uint32_t slot) {
  const PyBorrow given = is_touched_.at(slot) ? PyBorrow() : frame_.local(static_cast<int>(slot));
  if (given)
    store(slot, wrap(*this, given,
                     Source::local(static_cast<int>(slot),
                                   frame_.code().slot_name(static_cast<int>(slot)))));
  if (!locals_[slot]) break_graph(BreakReason::kRaises, "a local variable that is not bound");
  return locals_[slot];
}

void Translator::store(uint32_t slot, VarRef value) {
  is_touched_.at(slot) = true;
  locals_.at(slot) = std::move(value);
}

std::string Translator::name_of(const Instruction& i) const {
  const int index = name_index(operand(i.op, version()), static_cast<int>(i.arg));
  return std::string(utf8(PyBorrow(PyTuple_GET_ITEM(frame_.code().names().get(), index))));
}

PyBorrow Translator::constant_of(const Instruction& i) const {
  return PyBorrow(PyTuple_GET_ITEM(frame_.code().constants().get(), i.arg));
}

VarRef Translator::input(PyBorrow tensor, SourceRef source) {
  for (const VarRef& known : tensors_)
    if (known->source() && *known->source() == *source) return known;
  for (const OutputGraph::Input& known : graph_.inputs())
    if (PyBorrow(known.tensor) == tensor)
      break_graph(BreakReason::kValue,
                  str_cat("one tensor as ", known.source->text(), " and as ", source->text()));
  PyRef node = graph_.add_input(gil_, source, tensor);
  return remember(
      std::make_shared<TensorVariable>(std::move(node), stand_in(gil_, tensor), std::move(source)));
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
