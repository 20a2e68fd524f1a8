// Blocks of torch that set modes: autocast, by the calls that torch.fx graphs have for it, and what
// only profilers see.
#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// What torch.autocast keeps of its arguments.
constexpr const char* kParts[] = {"device", "fast_dtype", "_enabled", "_cache_enabled"};

VarRef enter_autocast(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  std::vector<PyRef> parts;
  for (const char* part : kParts) {
    const VarRef value = protocol::get_attribute(t, args.positional[0], part);
    if (!value->object()) unknown_arguments(function, "with a " + value->type_name());
    parts.push_back(PyRef::to(value->object()));
  }
  t.enter_autocast(args.positional[0], tuple_of(parts));
  return args.positional[0];
}

VarRef leave_autocast(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 4, 4);
  t.leave_block(args.positional[0]);
  return boolean(false);
}

// record_function(name, args=None): what its __init__ keeps.
VarRef make_record(Translator& t, PyBorrow function, const CallArgs& args) {
  CallArgs all{args.positional, {}};
  for (const auto& [name, value] : args.named)
    if (name == "args" && all.positional.size() == 2) all.positional.push_back(value);
  expect_positional(function, all, 2, 3);
  const VarRef& self = all.positional[0];
  protocol::set_attribute(t, self, "name", all.positional[1]);
  protocol::set_attribute(t, self, "args", all.positional.size() == 3 ? all.positional[2] : none());
  protocol::set_attribute(t, self, "run_callbacks_on_exit", boolean(true));
  protocol::set_attribute(t, self, "record", none());
  return none();
}

VarRef enter_record(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  t.enter_block(args.positional[0]);
  return args.positional[0];
}

VarRef leave_record(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 4, 4);
  t.leave_block(args.positional[0]);
  return none();
}

constexpr BuiltinRow kRows[] = {
    {"torch", "get_autocast_dtype", protocol::fold},
    {"torch", "is_autocast_cache_enabled", protocol::fold},
    {"torch", "is_autocast_enabled", protocol::fold},
    {"torch._C", "_get_privateuse1_backend_name", protocol::fold},
    {"torch._C", "_is_autocast_available", protocol::fold},
    {"torch.amp.autocast_mode", "autocast.__enter__", enter_autocast},
    {"torch.amp.autocast_mode", "autocast.__exit__", leave_autocast},
    {"torch.autograd.profiler", "record_function.__enter__", enter_record},
    {"torch.autograd.profiler", "record_function.__exit__", leave_record},
    {"torch.autograd.profiler", "record_function.__init__", make_record},
    {"torch.cuda", "is_available", protocol::fold},
    {"torch.cuda", "is_bf16_supported", protocol::fold},
};

}  // namespace

const std::span<const BuiltinRow> kModeBuiltins = kRows;

}  // namespace torchdyn
