// Calls. Until 3.12 the names of named arguments come before the call, in 3.13 on top of it.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

void keep_keywords(Translator& t, PyBorrow names) {
  t.keywords().clear();
  for (const PyBorrow name : items_of(names)) t.keywords().emplace_back(utf8(name));
}

void keyword_names(Translator& t, const Instruction& i) { keep_keywords(t, t.constant_of(i)); }

void precall(Translator&, const Instruction&) {}

CallArgs arguments_of(Translator& t, std::vector<VarRef> values) {
  const std::vector<std::string> names = std::exchange(t.keywords(), {});
  CallArgs args{std::move(values), {}};
  const size_t positional = args.positional.size() - names.size();
  for (size_t n = 0; n < names.size(); ++n)
    args.named.emplace_back(names[n], args.positional[positional + n]);
  args.positional.resize(positional);
  return args;
}

// CPython: Python/bytecodes.c, CALL. Of the two values below the arguments one is NULL, or the
// lower is a method's function and the upper its object.
void call(Translator& t, const Instruction& i) {
  std::vector<VarRef> values = t.pop(i.arg);
  VarRef upper = t.pop(), lower = t.pop();
  const bool null_first = t.version() < PythonVersion::k3_13;
  if (null_first && !lower) std::swap(lower, upper);
  if (upper) values.insert(values.begin(), upper);
  t.push(protocol::call(t, lower, arguments_of(t, std::move(values))));
}

void call_with_keywords(Translator& t, const Instruction& i) {
  keep_keywords(t, t.pop()->object());
  call(t, i);
}

// CPython: Python/bytecodes.c, CALL_FUNCTION_EX: function(*args, **kwargs).
void call_unpacked(Translator& t, const Instruction& i) {
  CallArgs args;
  if ((i.arg & 1) != 0) {
    const VarRef named = t.pop();
    const auto* const dict = dynamic_cast<const DictVariable*>(named.get());
    if (!dict) break_graph(BreakReason::kValue, "the items of a " + named->type_name());
    for (const auto& [key, value] : dict->entries()) {
      if (!PyUnicode_CheckExact(key->object().get()))
        break_graph(BreakReason::kRaises, "a keyword that is no string");
      args.named.emplace_back(utf8(key->object()), value);
    }
  }
  args.positional = protocol::all_items(t, t.pop());
  const VarRef upper = t.pop(), lower = t.pop();
  t.push(protocol::call(t, lower ? lower : upper, args));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::KW_NAMES, keyword_names},
    {Opcode::PRECALL, precall},
    {Opcode::CALL, call},
    {Opcode::CALL_KW, call_with_keywords},
    {Opcode::CALL_FUNCTION_EX, call_unpacked},
};

}  // namespace

const std::span<const OpcodeRow> kCallOps = kRows;

}  // namespace torchdyn
