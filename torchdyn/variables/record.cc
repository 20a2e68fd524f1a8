#include "torchdyn/variables/record.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/symbols.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/symbol.h"
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

// ---- Devices: stand-ins are on none, so that where a result is follows from the arguments

bool is_device_type(PyBorrow object) {
  return object && std::string_view(Py_TYPE(object.get())->tp_name) == "torch.device";
}

bool is_constant_of(const VarRef& value, bool (*is_kind)(PyBorrow)) {
  return dynamic_cast<const ConstantVariable*>(value.get()) && is_kind(value->object());
}

bool is_text(PyBorrow object) { return PyUnicode_CheckExact(object.get()); }

// The argument that names a device; null: there is none.
VarRef device_argument(const std::string& name, const CallArgs& args) {
  for (const auto& [key, value] : args.named)
    if (key == "device" && value->object() && value->object().get() != Py_None) return value;
  for (const VarRef& value : args.positional)
    if (is_constant_of(value, is_device_type)) return value;
  // x.to("cpu")
  if (name == "to" && args.positional.size() > 1 && is_constant_of(args.positional[1], is_text))
    return args.positional[1];
  return nullptr;
}

// Of several tensors on several devices, those that are numbers do not count.
const TensorVariable* leading(const VarRef& value, const TensorVariable* so_far) {
  if (const auto* const tensor = dynamic_cast<const TensorVariable*>(value.get())) {
    if (!so_far) return tensor;
    const PyRef rank = owned(PyObject_GetAttrString(so_far->like().get(), "ndim"));
    return PyLong_AsLong(rank.get()) == 0 ? tensor : so_far;
  }
  if (const auto* items = value->items())
    for (const VarRef& item : *items) so_far = leading(item, so_far);
  return so_far;
}

PyRef device_of(const Gil& gil, const std::string& name, const CallArgs& args) {
  const PyRef make = import_attribute(gil, "torch", "device");
  const auto from = [&](PyBorrow what) {
    std::vector<PyRef> one;
    one.push_back(PyRef::to(what));
    return call(gil, make, tuple_of(one));
  };
  if (const VarRef given = device_argument(name, args)) return from(given->object());
  if (name == "cpu") return from(torchdyn::name("cpu"));
  const TensorVariable* found = nullptr;
  const bool is_like_other = (name == "to" || name == "type_as") && args.positional.size() > 1;
  if (is_like_other) found = leading(args.positional[1], nullptr);
  for (size_t n = 0; !found && n < args.positional.size(); ++n)
    found = leading(args.positional[n], found);
  for (const VarRef& value : args.positional)
    if (!is_like_other) found = leading(value, found);
  for (const auto& [key, value] : args.named)
    if (!found) found = leading(value, found);
  return found ? PyRef::to(found->device()) : from(torchdyn::name("cpu"));
}

// On stand-ins' device, whatever device is named.
CallArgs on_no_device(const Gil& gil, const std::string& name, CallArgs args, bool is_factory) {
  std::vector<PyRef> text;
  text.push_back(torchdyn::name("meta"));
  const VarRef none = std::make_shared<ConstantVariable>(
      call(gil, import_attribute(gil, "torch", "device"), tuple_of(text)));
  const VarRef given = device_argument(name, args);
  for (VarRef& value : args.positional)
    if (given && value == given) value = none;
  std::erase_if(args.named, [](const auto& entry) { return entry.first == "device"; });
  const bool was_named = given && std::find(args.positional.begin(), args.positional.end(), none) ==
                                      args.positional.end();
  if (was_named || is_factory) args.named.emplace_back("device", none);
  return args;
}

void collect_places(const VarRef& value, std::vector<PyRef>* places) {
  if (const auto* const tensor = dynamic_cast<const TensorVariable*>(value.get())) {
    std::vector<PyRef> both;
    both.push_back(PyRef::to(tensor->like()));
    both.push_back(PyRef::to(tensor->device()));
    places->push_back(tuple_of(both));
  }
  if (const auto* items = value->items())
    for (const VarRef& item : *items) collect_places(item, places);
}

// Where autocast has a say, it must see devices.
PyRef call_on_stand_ins(Translator& t, PyBorrow function, const CallArgs& args) {
  const Gil& gil = t.gil();
  PyRef stand_ins = positional(gil, args, &Variable::as_stand_in);
  PyRef named_ones = named(gil, args, &Variable::as_stand_in);
  std::vector<PyRef> places;
  for (const VarRef& value : args.positional) collect_places(value, &places);
  for (const auto& [name, value] : args.named) collect_places(value, &places);
  const bool is_cast = !places.empty() && is_autocast_enabled();
  if (t.symbols() && is_cast) throw NeedsFixedSizes();
  if (t.symbols())
    return t.symbols()->call(gil, function, std::move(stand_ins), std::move(named_ones));
  if (!is_cast) return call(gil, function, stand_ins, named_ones);
  std::vector<PyRef> all;
  all.push_back(PyRef::to(function));
  all.push_back(std::move(stand_ins));
  all.push_back(std::move(named_ones));
  all.push_back(tuple_of(places));
  return call(gil, import_attribute(gil, "torchdyn.autocast", "call_like"), tuple_of(all));
}

PyRef try_call(Translator& t, PyBorrow function, const CallArgs& args) {
  const Gil& gil = t.gil();
  try {
    return call_on_stand_ins(t, function, args);
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    break_graph(BreakReason::kRaises, take_exception_text(gil));
  }
}

}  // namespace

VarRef record_function(Translator& t, PyBorrow function, const CallArgs& args, bool is_factory) {
  const Gil& gil = t.gil();
  const std::string name = text_of(attribute(gil, function, "__name__"));
  const PyRef result = try_call(t, function, on_no_device(gil, name, args, is_factory));
  PyRef node = t.graph().call_function(gil, function, positional(gil, args, &Variable::as_node),
                                       named(gil, args, &Variable::as_node));
  return wrap_result(t, name, std::move(node), result, device_of(gil, name, args));
}

void record_change(Translator& t, PyBorrow function, const CallArgs& args) {
  const Gil& gil = t.gil();
  (void)try_call(t, function, args);
  (void)t.graph().call_function(gil, function, positional(gil, args, &Variable::as_node),
                                named(gil, args, &Variable::as_node));
}

VarRef record_method(Translator& t, const VarRef& self, const std::string& method,
                     const CallArgs& args) {
  const Gil& gil = t.gil();
  const bool is_whole_question = method == "size" || method == "stride";
  if (t.symbols() && is_whole_question && args.positional.empty() && args.named.empty())
    return sizes_of(t, self, method.c_str());
  CallArgs with_self{args};
  with_self.positional.insert(with_self.positional.begin(), self);
  const PyRef device = device_of(gil, method, with_self);
  const CallArgs plain = on_no_device(gil, method, with_self, false);
  const PyRef like = self->as_stand_in(gil);
  const PyRef function = attribute(gil, import_attribute(gil, "torch", "Tensor"), method.c_str());
  PyRef result = method == "cpu" ? PyRef::to(like) : try_call(t, function, plain);
  // A tensor that went to another device is another one.
  const auto* const tensor = dynamic_cast<const TensorVariable*>(self.get());
  if (tensor && PyBorrow(result) == PyBorrow(like) && !equal_constants(tensor->device(), device))
    result = torchdyn::call_method(gil, like, "clone", {});
  PyRef node =
      t.graph().call_method(gil, method.c_str(), positional(gil, with_self, &Variable::as_node),
                            named(gil, with_self, &Variable::as_node));
  return wrap_result(t, method, std::move(node), result, device);
}

}  // namespace torchdyn
