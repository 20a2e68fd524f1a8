// Functions that the frame made, methods with their objects, and cells.
#include "torchdyn/capture/inline_call.h"
#include "torchdyn/capture/translator.h"
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

const Slots& FunctionVariable::slots() const {
  static constexpr Slots kSlots{.call = call_made};
  return kSlots;
}

const Slots& BoundMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_bound};
  return kSlots;
}

const Slots& CellVariable::slots() const {
  static constexpr Slots kSlots{};
  return kSlots;
}

}  // namespace torchdyn
