#include "torchdyn/variables/record.h"

#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using AsArgument = PyRef (Variable::*)(const Gil&) const;

PyRef positional(const Gil& gil, const CallArgs& args, AsArgument as) {
  std::vector<PyRef> items;
  for (const VarRef& arg : args.positional) items.push_back((arg.get()->*as)(gil));
  return tuple_of(items);
}

PyRef named(const Gil& gil, const CallArgs& args, AsArgument as) {
  PyRef dict = owned(PyDict_New());
  for (const auto& [key, arg] : args.named)
    if (PyDict_SetItemString(dict.get(), key.c_str(), (arg.get()->*as)(gil).get()) != 0)
      throw PythonError();
  return dict;
}

PyRef try_call(const Gil& gil, PyBorrow function, const CallArgs& args) {
  const PyRef stand_ins = positional(gil, args, &Variable::as_stand_in);
  const PyRef named_ones = named(gil, args, &Variable::as_stand_in);
  try {
    return call(gil, function, stand_ins, named_ones);
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    break_graph(BreakReason::kRaises, take_exception_text(gil));
  }
}

}  // namespace

VarRef record_function(Translator& t, PyBorrow function, const CallArgs& args) {
  const PyRef result = try_call(t.gil(), function, args);
  PyRef node =
      t.graph().call_function(t.gil(), function, positional(t.gil(), args, &Variable::as_node),
                              named(t.gil(), args, &Variable::as_node));
  const PyRef name = attribute(t.gil(), function, "__name__");
  return wrap_result(t, utf8(name), std::move(node), result);
}

VarRef record_method(Translator& t, const VarRef& self, const std::string& method,
                     const CallArgs& args) {
  const PyRef function = attribute(t.gil(), self->as_stand_in(t.gil()), method.c_str());
  const PyRef result = try_call(t.gil(), function, args);
  CallArgs with_self{args};
  with_self.positional.insert(with_self.positional.begin(), self);
  PyRef node = t.graph().call_method(t.gil(), method.c_str(),
                                     positional(t.gil(), with_self, &Variable::as_node),
                                     named(t.gil(), with_self, &Variable::as_node));
  return wrap_result(t, method, std::move(node), result);
}

}  // namespace torchdyn
