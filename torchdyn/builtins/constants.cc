// What only computes, of constants, and questions that guards answer.
#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// Of torch.jit: a trace is no place to capture in.
VarRef tracing_state(Translator& t, PyBorrow function, const CallArgs& args) {
  const VarRef state = protocol::fold(t, function, args);
  if (protocol::truth(t, state)) break_graph(BreakReason::kMode, "torch.jit.trace");
  return state;
}

// Subclasses of Tensor are no Tensors of ours.
VarRef no_torch_function(Translator&, PyBorrow function, const CallArgs& args) {
  for (const VarRef& arg : args.positional)
    if (dynamic_cast<const ObjectVariable*>(arg.get()))
      unknown_arguments(function, "of a " + arg->type_name());
  return boolean(false);
}

// A metatype that has not put another text in place of type's.
bool says_its_name(PyTypeObject* metatype) {
  return metatype->tp_repr == PyType_Type.tp_repr && metatype->tp_str == PyType_Type.tp_str;
}

std::string_view name_of_type(PyBorrow type) {
  return PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : "";
}

// A text of a type, an exception, or of constants.
VarRef text(Translator& t, PyBorrow function, const CallArgs& args) {
  const bool is_type = args.positional.size() == 1 && args.positional[0]->object() &&
                       PyType_Check(args.positional[0]->object().get()) &&
                       says_its_name(Py_TYPE(args.positional[0]->object().get()));
  if (const auto* const exception =
          args.positional.size() == 1
              ? dynamic_cast<const ExceptionVariable*>(args.positional[0].get())
              : nullptr;
      exception && name_of_type(function) == "str")
    return std::make_shared<ConstantVariable>(torchdyn::name(exception->message()));
  if (!is_type || !dynamic_cast<const ObjectVariable*>(args.positional[0].get()))
    return protocol::fold(t, function, args);
  t.guard_identity(*args.positional[0]);
  return std::make_shared<ConstantVariable>(
      owned(PyObject_Str(args.positional[0]->object().get())));
}

VarRef truth(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 1);
  return boolean(!args.positional.empty() && protocol::truth(t, args.positional[0]));
}

VarRef product(Translator& t, PyBorrow function, const CallArgs& args) {
  if (args.positional.empty()) unknown_arguments(function, "of nothing");
  CallArgs all{args};
  all.positional[0] =
      std::make_shared<SequenceVariable>(true, protocol::all_items(t, args.positional[0]));
  return protocol::fold(t, function, all);
}

// torch._check: what it says is guarded.
VarRef check(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 2);
  if (!protocol::truth(t, args.positional[0])) break_graph(BreakReason::kRaises, "torch._check");
  return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_None)));
}

// min and max: of what an iterable gives, or of their arguments.
VarRef extreme(Translator& t, PyBorrow function, const CallArgs& args) {
  return args.positional.size() == 1 ? product(t, function, args)
                                     : protocol::fold(t, function, args);
}

// abs(). CPython: Objects/abstract.c, PyNumber_Absolute.
VarRef absolute(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  const VarRef& value = args.positional[0];
  if (dynamic_cast<const TensorVariable*>(value.get()))
    return protocol::call(t, protocol::get_attribute(t, value, "abs"), {});
  if (const VarRef method = is_object(value) ? special_method(t, value, "__abs__") : nullptr)
    return protocol::call(t, method, {});
  return protocol::fold(t, function, args);
}

// What leaves no trace in the program.
VarRef unseen(Translator&, PyBorrow, const CallArgs&) { return none(); }

// So programs take what they have for torch.compile.
VarRef is_compiling(Translator&, PyBorrow, const CallArgs&) { return boolean(true); }

// Functions that ask about streams that are captured: they are not, where capture is.
VarRef is_capturing(Translator& t, PyBorrow function, const CallArgs& args) {
  const VarRef answer = protocol::fold(t, function, args);
  if (protocol::truth(t, answer)) break_graph(BreakReason::kMode, "a stream that is captured");
  return answer;
}

constexpr BuiltinRow kRows[] = {
    {"builtins", "abs", absolute},
    {"builtins", "bool", truth},
    {"builtins", "chr", protocol::fold},
    {"builtins", "divmod", protocol::fold},
    {"builtins", "float", protocol::fold},
    {"builtins", "int", protocol::fold},
    {"builtins", "max", extreme},
    {"builtins", "min", extreme},
    {"builtins", "ord", protocol::fold},
    {"builtins", "pow", protocol::fold},
    {"builtins", "range", protocol::fold},
    {"builtins", "repr", text},
    {"builtins", "round", protocol::fold},
    {"builtins", "slice", protocol::fold},
    {"builtins", "str", text},
    {"math", "acos", protocol::fold},
    {"math", "acosh", protocol::fold},
    {"math", "asin", protocol::fold},
    {"math", "asinh", protocol::fold},
    {"math", "atan", protocol::fold},
    {"math", "atan2", protocol::fold},
    {"math", "atanh", protocol::fold},
    {"math", "cbrt", protocol::fold},
    {"math", "ceil", protocol::fold},
    {"math", "comb", protocol::fold},
    {"math", "copysign", protocol::fold},
    {"math", "cos", protocol::fold},
    {"math", "cosh", protocol::fold},
    {"math", "degrees", protocol::fold},
    {"math", "dist", protocol::fold},
    {"math", "erf", protocol::fold},
    {"math", "erfc", protocol::fold},
    {"math", "exp", protocol::fold},
    {"math", "exp2", protocol::fold},
    {"math", "expm1", protocol::fold},
    {"math", "fabs", protocol::fold},
    {"math", "factorial", protocol::fold},
    {"math", "floor", protocol::fold},
    {"math", "fmod", protocol::fold},
    {"math", "frexp", protocol::fold},
    {"math", "fsum", product},
    {"math", "gamma", protocol::fold},
    {"math", "gcd", protocol::fold},
    {"math", "hypot", protocol::fold},
    {"math", "isclose", protocol::fold},
    {"math", "isfinite", protocol::fold},
    {"math", "isinf", protocol::fold},
    {"math", "isnan", protocol::fold},
    {"math", "isqrt", protocol::fold},
    {"math", "lcm", protocol::fold},
    {"math", "ldexp", protocol::fold},
    {"math", "lgamma", protocol::fold},
    {"math", "log", protocol::fold},
    {"math", "log10", protocol::fold},
    {"math", "log1p", protocol::fold},
    {"math", "log2", protocol::fold},
    {"math", "modf", protocol::fold},
    {"math", "nextafter", protocol::fold},
    {"math", "perm", protocol::fold},
    {"math", "pow", protocol::fold},
    {"math", "prod", product},
    {"math", "radians", protocol::fold},
    {"math", "remainder", protocol::fold},
    {"math", "sin", protocol::fold},
    {"math", "sinh", protocol::fold},
    {"math", "sqrt", protocol::fold},
    {"math", "tan", protocol::fold},
    {"math", "tanh", protocol::fold},
    {"math", "trunc", protocol::fold},
    {"math", "ulp", protocol::fold},
    {"operator", "index", protocol::fold},
    {"torch", "Size", protocol::fold},
    {"torch", "_check", check},
    {"torch", "device", protocol::fold},
    {"torch", "finfo", protocol::fold},
    {"torch", "iinfo", protocol::fold},
    {"torch", "get_default_dtype", protocol::fold},
    {"torch", "is_grad_enabled", protocol::fold},
    {"torch", "is_inference_mode_enabled", protocol::fold},
    {"torch", "promote_types", protocol::fold},
    {"torch._C", "_get_deterministic_algorithms", protocol::fold},
    {"torch._C", "_get_dtensor_allow_implicit_replication", protocol::fold},
    {"torch._C", "_len_torch_dispatch_stack", protocol::fold},
    {"torch._C", "_log_api_usage_once", unseen},
    {"torch.compiler", "is_compiling", is_compiling},
    {"torch.cuda.graphs", "_cuda_isCurrentStreamCapturing", is_capturing},
    {"torch.xpu.graphs", "_xpu_isCurrentStreamCapturing", is_capturing},
    {"torch._C", "_get_tracing_state", tracing_state},
    {"torch._C", "_has_torch_function", no_torch_function},
    {"torch._C", "_has_torch_function_unary", no_torch_function},
    {"torch._C", "_has_torch_function_variadic", no_torch_function},
    {"torch._C", "_is_tracing", tracing_state},
};

}  // namespace

const std::span<const BuiltinRow> kConstantBuiltins = kRows;

}  // namespace torchdyn
