// Functions that the frame made, methods with their objects, and cells.
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/inline_call.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

VarRef call_made(Translator& t, const VarRef& self, const CallArgs& args) {
  return inline_call(t, static_cast<const FunctionVariable&>(*self), args);
}

// CPython: Objects/classobject.c, method_vectorcall.
VarRef call_bound(Translator& t, const VarRef& self, const CallArgs& args) {
  const auto& method = static_cast<const BoundMethodVariable&>(*self);
  CallArgs with_self{args};
  with_self.positional.insert(with_self.positional.begin(), method.self());
  return protocol::call(t, method.function(), with_self);
}

}  // namespace

std::vector<VarRef> FunctionVariable::parts() const {
  std::vector<VarRef> all = defaults;
  for (const auto& [name, value] : named_defaults) all.push_back(value);
  all.insert(all.end(), closure.begin(), closure.end());
  return all;
}

// CPython: Python/bytecodes.c, MAKE_FUNCTION; what a bit says is on the stack lies below the code.
void FunctionVariable::rebuild(CodeWriter& w) const {
  if (globals_source_) break_graph(BreakReason::kRebuild, "a function of another module");
  uint32_t bits = 0;
  if (!defaults.empty()) {
    for (const VarRef& value : defaults) w.value(value);
    w.emit(Opcode::BUILD_TUPLE, static_cast<uint32_t>(defaults.size()));
    bits |= 1;
  }
  if (!named_defaults.empty()) {
    for (const auto& [name, value] : named_defaults) {
      w.constant(torchdyn::name(name));
      w.value(value);
    }
    w.emit(Opcode::BUILD_MAP, static_cast<uint32_t>(named_defaults.size()));
    bits |= 2;
  }
  if (!closure.empty()) {
    for (const VarRef& cell : closure) w.value(cell);
    w.emit(Opcode::BUILD_TUPLE, static_cast<uint32_t>(closure.size()));
    bits |= 8;
  }
  w.constant(code_);
  const bool by_one = running_version() >= PythonVersion::k3_13;
  w.emit(Opcode::MAKE_FUNCTION, by_one ? 0 : bits);
  for (uint32_t bit = 8; by_one && bit != 0; bit >>= 1)
    if ((bits & bit) != 0) w.emit(Opcode::SET_FUNCTION_ATTRIBUTE, bit);
}

void BoundMethodVariable::rebuild(CodeWriter& w) const {
  w.begin_call(PyBorrow(reinterpret_cast<PyObject*>(&PyMethod_Type)));
  w.value(function_);
  w.value(self_);
  w.end_call(2);
}

std::vector<VarRef> CellVariable::parts() const {
  return content_ ? std::vector<VarRef>{content_} : std::vector<VarRef>{};
}

const Slots& FunctionVariable::slots() const {
  static constexpr Slots kSlots{.call = call_made};
  return kSlots;
}

const Slots& BoundMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_bound};
  return kSlots;
}

namespace {

// CPython: Modules/_functoolsmodule.c, partial_call.
VarRef call_partial(Translator& t, const VarRef& self, const CallArgs& args) {
  const auto& partial = static_cast<const PartialVariable&>(*self);
  CallArgs all{partial.args()};
  all.positional.insert(all.positional.end(), args.positional.begin(), args.positional.end());
  for (const auto& [name, value] : args.named) {
    std::erase_if(all.named, [&](const auto& entry) { return entry.first == name; });
    all.named.emplace_back(name, value);
  }
  return protocol::call(t, partial.function(), all);
}

}  // namespace

const Slots& PartialVariable::slots() const {
  static constexpr Slots kSlots{.call = call_partial};
  return kSlots;
}

std::vector<VarRef> PartialVariable::parts() const {
  std::vector<VarRef> all = args_.positional;
  for (const auto& [name, value] : args_.named) all.push_back(value);
  all.push_back(function_);
  return all;
}

const Slots& CellVariable::slots() const {
  static constexpr Slots kSlots{};
  return kSlots;
}

}  // namespace torchdyn
