#include "torchdyn/capture/translator.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/disassemble.h"
#include "torchdyn/capture/gaps.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/open_sizes.h"
#include "torchdyn/capture/symbols.h"
#include "torchdyn/cpython/code_object.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/symbol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

Bytecode bytecode_of(const Gil& gil, CodeView code) {
  auto bytecode = disassemble(bytes_of(gil, code));
  if (!bytecode.ok()) break_graph(BreakReason::kOpcode, std::string(bytecode.status().message()));
  return std::move(*bytecode);
}

// What is found along a type's bases is guarded with the type that it was found in.
bool is_fixed_by_type(const Source& source) {
  switch (source.kind()) {
    case Source::Kind::kTypeMember:
    case Source::Kind::kClassMember:
    case Source::Kind::kBaseMember:
    case Source::Kind::kClassOrder:
    case Source::Kind::kFixed:
      return true;
    case Source::Kind::kUnwrapped:
    case Source::Kind::kSetter:
      return is_fixed_by_type(*source.base());
    default:
      return false;
  }
}

}  // namespace

Translator::Translator(const Gil& gil, const FrameView& frame, const OpenSizes& open,
                       Symbols* symbols)
    : gil_(gil),
      frame_(frame),
      open_(open),
      symbols_(symbols),
      graph_(gil),
      grad_mode_before_(is_grad_enabled()),
      grad_mode_(grad_mode_before_) {
  begin(frame.code(), frame.globals(), nullptr);
}

VarRef Translator::run() {
  VarRef result = run_innermost();
  if (!blocks_.empty()) break_graph(BreakReason::kExceptions, "a block that is not left");
  return result;
}

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

std::list<Activation> Translator::suspended(CodeView code, PyBorrow globals,
                                            SourceRef globals_source, std::vector<VarRef> locals) {
  Activation& made = begin(code, globals, std::move(globals_source));
  made.locals = std::move(locals);
  made.is_touched.assign(made.is_touched.size(), true);
  std::list<Activation> alone;
  alone.splice(alone.begin(), activations_, std::prev(activations_.end()));
  return alone;
}

VarRef Translator::resume(std::list<Activation>* suspended, VarRef* returned, const VarRef& sent,
                          const Raised* thrown) {
  if (activations_.size() >= kMostActivations)
    break_graph(BreakReason::kDepth, std::string(suspended->front().code.name()));
  activations_.splice(activations_.end(), *suspended);
  const VarRef handled = handled_;
  if (sent) push(sent);
  if (thrown) {
    current().at = &*current().next;
    unwind(current(), *thrown);
  }
  VarRef value = run_innermost();
  if (handled_ != handled)
    break_graph(BreakReason::kExceptions, "a generator that yields while it handles an exception");
  if (!std::exchange(current().has_yielded, false)) {
    activations_.pop_back();
    *returned = std::move(value);
    return nullptr;
  }
  current().result = nullptr;
  suspended->splice(suspended->begin(), activations_, std::prev(activations_.end()));
  return value;
}

void Translator::set_grad_mode(bool is_on) {
  grad_mode_ = is_on;
  set_grad_enabled(is_on);
}

namespace {

// Whatever exception is set meanwhile stays.
void leave(const Gil& gil, PyBorrow mode) noexcept {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PyBorrow none(Py_None);
  try {
    (void)call_method(gil, mode, "__exit__", {none, none, none});
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void Translator::enter_autocast(const VarRef& manager, const PyRef& parts) {
  const PyRef function = import_attribute(gil_, "torch.amp", "_enter_autocast");
  PyRef mode = call(gil_, function, parts);
  PyRef node = graph_.call_function(gil_, function, parts, PyRef());
  blocks_.push_back({manager, std::move(mode), std::move(node), steps_, activations_.front().line});
}

void Translator::enter_block(const VarRef& manager) {
  blocks_.push_back({manager, PyRef(), PyRef(), steps_, activations_.front().line});
}

void Translator::leave_block(const VarRef& manager) {
  if (blocks_.empty() || blocks_.back().manager != manager)
    break_graph(BreakReason::kMode, "a block that is left in another order");
  const Block block = std::move(blocks_.back());
  blocks_.pop_back();
  if (!block.mode) return;
  std::vector<PyRef> args;
  args.push_back(PyRef::to(block.node));
  (void)graph_.call_function(gil_, import_attribute(gil_, "torch.amp", "_exit_autocast"),
                             tuple_of(args), PyRef());
  leave(gil_, block.mode);
}

void Translator::leave_modes() {
  for (auto entered = blocks_.rbegin(); entered != blocks_.rend(); ++entered)
    if (const PyRef mode = std::move(entered->mode)) leave(gil_, mode);
  set_grad_enabled(grad_mode_before_);
}

std::optional<bool> Translator::changed_grad_mode() const {
  return grad_mode_ == grad_mode_before_ ? std::nullopt : std::optional(grad_mode_);
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
    try {
      step(*activation.at);
    } catch (const Raised& raised) {
      unwind(activation, raised);
    }
  }
  return activation.result;
}

// CPython: Python/ceval.c, exception_unwind.
void Translator::unwind(Activation& activation, const Raised& raised) {
  const ExceptionVariable& exception = *raised.exception;
  const bool is_own = &activation == &activations_.front();
  exception.was_raised = true;
  if (is_own && exception.raised_at == 0) {
    exception.raised_at = steps_;
    exception.raised_on_line = activation.line;
  }
  const ExceptionHandler* const handler = activation.at->handler;
  if (!handler && is_own) {
    handled_ = raised.exception;
    break_graph(BreakReason::kRaises, exception.description());
  }
  if (!handler) {
    activations_.pop_back();
    throw raised;
  }
  activation.stack.resize(handler->depth);
  if (handler->keeps_index) push(std::make_shared<ConstantVariable>(owned(PyLong_FromLong(0))));
  push(raised.exception);
  jump(*handler->target);
}

const ExceptionVariable* Translator::first_raised() const {
  const ExceptionVariable* first = nullptr;
  std::vector<VarRef> waiting = outermost().stack;
  waiting.insert(waiting.end(), outermost().locals.begin(), outermost().locals.end());
  waiting.push_back(handled_);
  std::vector<const ExceptionVariable*> seen;  // causes may go round in a circle
  while (!waiting.empty()) {
    const VarRef value = std::move(waiting.back());
    waiting.pop_back();
    const auto* const exception = dynamic_cast<const ExceptionVariable*>(value.get());
    if (!exception || std::find(seen.begin(), seen.end(), exception) != seen.end()) continue;
    seen.push_back(exception);
    if (exception->raised_at > 0 && (!first || exception->raised_at < first->raised_at))
      first = exception;
    waiting.push_back(exception->context);
    waiting.push_back(exception->cause);
  }
  return first;
}

std::pair<int, int> Translator::cut_place() const {
  std::pair place(steps_, activations_.front().line);
  if (const ExceptionVariable* const first = first_raised())
    place = std::min(place, std::pair(first->raised_at, first->raised_on_line));
  if (!blocks_.empty())
    place = std::min(place, std::pair(blocks_.front().step, blocks_.front().line));
  return place;
}

int Translator::steps() const { return cut_place().first; }

int Translator::line() const { return cut_place().second; }

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

SourceRef Translator::canonical_function(PyBorrow function, const SourceRef& source) {
  return globals_.try_emplace(function.get(), source).first->second;
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
  try {
    handler(*this, i);
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    break_graph(BreakReason::kRaises, take_exception_text(gil_));
  }
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
  if (!value)
    raise(*this, PyBorrow(PyExc_UnboundLocalError),
          str_cat("cannot access local variable '", code().slot_name(static_cast<int>(slot)),
                  "' where it is not associated with a value"));
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

// CPython: Objects/typeobject.c, super_init_without_args.
VarRef Translator::implicit_super() {
  const int slots = code().slots();
  for (int slot = slots - code().free_slots(); slot < slots; ++slot) {
    if (code().slot_name(slot) != "__class__") continue;
    const VarRef held = cell(slot);
    const auto& type = static_cast<const CellVariable&>(*held);
    VarRef self = load(0);
    if (const auto* const in_cell = dynamic_cast<const CellVariable*>(self.get()))
      self = in_cell->content();
    if (!self) break;
    return std::make_shared<SuperVariable>(
        type.content() ? type.content() : wrap(*this, type.source()->read(frame_), type.source()),
        self);
  }
  break_graph(BreakReason::kRaises, "super(): no arguments");
}

VarRef Translator::input(PyBorrow tensor, SourceRef source) {
  for (const VarRef& known : tensors_)
    if (known->source() && *known->source() == *source) return known;
  if (VarRef known = this->known(tensor, source)) return known;
  PyRef like = stand_in(gil_, tensor);
  std::vector<int> open;
  if (!is_parameter(tensor)) open = open_.dimensions(gil_, tensor, place(*source));
  if (!open.empty() && !symbols_) throw NeedsSymbols();
  if (symbols_) like = symbols_->stand_in(gil_, like, open, source->text());
  PyRef node = graph_.add_input(gil_, source, tensor, like);
  return found(remember(std::make_shared<TensorVariable>(std::move(node), std::move(like),
                                                         attribute(gil_, tensor, "device"),
                                                         Py_TYPE(tensor.get()), std::move(source))),
               tensor);
}

// Modules share their code: what one holds is no other value of what the other holds.
std::string Translator::place(const Source& source) const {
  std::string place = source.text();
  const PyRef type = import_attribute(gil_, "torch.nn", "Module");
  for (const Source* s = source.base().get(); s; s = s->base().get()) {
    const PyBorrow owner = s->read(frame_);
    const bool is_module = owner && PyType_IsSubtype(Py_TYPE(owner.get()),
                                                     reinterpret_cast<PyTypeObject*>(type.get()));
    if (is_module) return str_cat(place, " of ", reinterpret_cast<uintptr_t>(owner.get()));
  }
  return place;
}

VarRef Translator::number(PyBorrow object, const SourceRef& source) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object.get(), &overflow);
  if (overflow != 0) return nullptr;
  for (const VarRef& known : open_numbers_)
    if (*known->source() == *source) return known;
  numbers_.emplace_back(source, value);
  const bool is_argument = source->kind() == Source::Kind::kLocal;
  if (!open_.is_open(value, place(*source), is_argument)) return nullptr;
  if (!symbols_) throw NeedsSymbols();
  guards_.add(source, *TypeIs::of(object));
  PyRef symbol = symbols_->number(gil_, value, source->text());
  PyRef node = graph_.add_input(gil_, source, object, symbol);
  return open_numbers_.emplace_back(
      std::make_shared<SymbolVariable>(std::move(node), std::move(symbol), source));
}

void Translator::tell_sizes(OpenSizes* open) const {
  for (const OutputGraph::Input& input : inputs())
    if (is_tensor(input.value) && !is_parameter(input.value))
      open->saw(input.value, place(*input.source));
  for (const auto& [source, value] : numbers_) open->saw(value, place(*source));
}

void Translator::guard_identity(const Variable& value) {
  if (!value.source() || !value.object() || is_fixed_by_type(*value.source())) return;
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
