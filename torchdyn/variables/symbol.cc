// Numbers that depend on open sizes: what is computed with them are nodes, what is asked are
// guards, which torch's symbols keep by themselves when they are asked for a value.
#include "torchdyn/variables/symbol.h"

#include <algorithm>

#include "torchdyn/capture/symbols.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

VarRef truth(Translator&, const VarRef& self) { return fixed(self); }

VarRef number(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  return protocol::fold(t, function, {{left, right}, {}});
}

VarRef get_attribute(Translator& t, const VarRef& self, const std::string& name) {
  return protocol::get_attribute(t, fixed(self), name);
}

}  // namespace

// ---- Kinds
// -----------------------------------------------------------------------------------------

const Slots& SymbolVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute, .number = number, .truth = truth};
  return kSlots;
}

PyTypeObject* SymbolVariable::type() const {
  const std::string_view type = Py_TYPE(value_.get())->tp_name;
  return type == "SymInt" ? &PyLong_Type : type == "SymFloat" ? &PyFloat_Type : &PyBool_Type;
}

std::string SymbolVariable::type_name() const { return type()->tp_name; }

PyRef SliceVariable::as_slice(const Gil& gil, PyRef (Variable::*as)(const Gil&) const) const {
  const auto bound = [&](size_t n) {
    return n < bounds_.size() ? (bounds_[n].get()->*as)(gil) : PyRef::to(PyBorrow(Py_None));
  };
  return owned(PySlice_New(bound(0).get(), bound(1).get(), bound(2).get()));
}

const Slots& SliceVariable::slots() const {
  static constexpr Slots kSlots{};
  return kSlots;
}

bool mentions_symbol(const VarRef& value) {
  if (dynamic_cast<const SymbolVariable*>(value.get()) ||
      dynamic_cast<const SliceVariable*>(value.get()))
    return true;
  const auto* const items = value->items();
  return items && std::any_of(items->begin(), items->end(), mentions_symbol);
}

// ---- As constants
// ----------------------------------------------------------------------------------

namespace {

PyRef value_of(const SymbolVariable& symbol) {
  PyObject* const value = symbol.value().get();
  if (symbol.type() == &PyLong_Type) return owned(PyNumber_Long(value));
  if (symbol.type() == &PyFloat_Type) return owned(PyNumber_Float(value));
  const int answer = PyObject_IsTrue(value);
  if (answer < 0) throw PythonError();
  return PyRef::to(PyBorrow(answer == 1 ? Py_True : Py_False));
}

std::vector<VarRef> all_fixed(const std::vector<VarRef>& values) {
  std::vector<VarRef> constants;
  for (const VarRef& value : values) constants.push_back(fixed(value));
  return constants;
}

}  // namespace

VarRef fixed(const VarRef& value) {
  if (!mentions_symbol(value)) return value;
  if (const auto* const symbol = dynamic_cast<const SymbolVariable*>(value.get()))
    return std::make_shared<ConstantVariable>(value_of(*symbol));
  const std::vector<VarRef> parts = all_fixed(value->parts());
  if (const auto* const named = dynamic_cast<const NamedTupleVariable*>(value.get()))
    return std::make_shared<NamedTupleVariable>(
        PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(named->type()))), parts);
  if (const auto* const sequence = dynamic_cast<const SequenceVariable*>(value.get()))
    return std::make_shared<SequenceVariable>(sequence->is_list(), parts);
  const auto bound = [&](size_t n) {
    return n < parts.size() ? parts[n]->object().get() : Py_None;
  };
  return std::make_shared<ConstantVariable>(owned(PySlice_New(bound(0), bound(1), bound(2))));
}

// ---- Arithmetic
// ------------------------------------------------------------------------------------

namespace {

bool is_number(PyBorrow object) {
  return object && (PyLong_Check(object.get()) || PyFloat_CheckExact(object.get()));
}

// Or a tuple or list of such.
bool is_numeric(const VarRef& value) {
  if (dynamic_cast<const SymbolVariable*>(value.get())) return true;
  if (const auto* const items = value->items())
    return std::all_of(items->begin(), items->end(), is_numeric);
  return is_number(value->object());
}

// What must hold of the arguments where Python does not raise.
enum class Asks : uint8_t { kNothing, kNotZero, kPositiveBase };

struct ArithmeticRow {
  std::string_view module, name;  // in-place operators of numbers are the plain ones
  Asks asks = Asks::kNothing;
};

constexpr ArithmeticRow kArithmetic[] = {
    {"_operator", "abs"},
    {"_operator", "add"},
    {"_operator", "eq"},
    {"_operator", "floordiv", Asks::kNotZero},
    {"_operator", "ge"},
    {"_operator", "gt"},
    {"_operator", "iadd"},
    {"_operator", "ifloordiv", Asks::kNotZero},
    {"_operator", "imod", Asks::kNotZero},
    {"_operator", "imul"},
    {"_operator", "index"},
    {"_operator", "isub"},
    {"_operator", "itruediv", Asks::kNotZero},
    {"_operator", "le"},
    {"_operator", "lt"},
    {"_operator", "mod", Asks::kNotZero},
    {"_operator", "mul"},
    {"_operator", "ne"},
    {"_operator", "neg"},
    {"_operator", "pos"},
    {"_operator", "pow", Asks::kPositiveBase},
    {"_operator", "sub"},
    {"_operator", "truediv", Asks::kNotZero},
    {"builtins", "abs"},
    {"builtins", "int"},
    {"builtins", "max"},
    {"builtins", "min"},
    {"builtins", "pow", Asks::kPositiveBase},
    {"builtins", "round"},
    {"math", "ceil"},
    {"math", "floor"},
    {"math", "prod"},
    {"math", "trunc"},
};

const ArithmeticRow* row_of(const std::string& module, const std::string& name) {
  const auto* const found = std::find_if(
      std::begin(kArithmetic), std::end(kArithmetic),
      [&](const ArithmeticRow& row) { return row.module == module && row.name == name; });
  return found == std::end(kArithmetic) ? nullptr : found;
}

bool is_count(const VarRef& value) {
  return value->object() && PyLong_Check(value->object().get()) != 0 &&
         PyObject_RichCompareBool(value->object().get(), owned(PyLong_FromLong(0)).get(), Py_GE) ==
             1;
}

// Whether it does not raise now; guards say so for other sizes, too.
bool does_not_raise(Translator& t, Asks asks, const CallArgs& args) {
  const VarRef zero = std::make_shared<ConstantVariable>(owned(PyLong_FromLong(0)));
  if (asks == Asks::kNothing) return true;
  if (args.positional.size() != 2) return false;
  if (asks == Asks::kNotZero)
    return protocol::truth(t, protocol::number(t, "ne", args.positional[1], zero));
  return is_count(args.positional[1]) ||
         protocol::truth(t, protocol::number(t, "gt", args.positional[0], zero));
}

VarRef symbol(Translator& t, PyRef node, PyRef value) {
  t.graph().computes_no_tensor();
  return std::make_shared<SymbolVariable>(std::move(node), std::move(value));
}

// Null: Python raises.
PyRef result_of(Translator& t, PyBorrow function, const PyRef& args) {
  try {
    return t.symbols()->call(t.gil(), function, PyRef::to(args), PyRef());
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    (void)take_exception_text(t.gil());
    return PyRef();
  }
}

}  // namespace

VarRef call_of_symbols(Translator& t, PyBorrow function, const CallArgs& args) {
  const Gil& gil = t.gil();
  const std::string name = text_of(attribute(gil, function, "__name__"));
  const ArithmeticRow* const row = row_of(text_of(attribute(gil, function, "__module__")), name);
  if (!row || !args.named.empty() ||
      !std::all_of(args.positional.begin(), args.positional.end(), is_numeric) ||
      !does_not_raise(t, row->asks, args))
    return nullptr;
  const bool is_int = name == "int" || name == "index";
  if (is_int && args.positional.size() == 1 && args.positional[0]->type_name() == "int")
    return args.positional[0];
  std::vector<PyRef> values, nodes;
  for (const VarRef& arg : args.positional) {
    values.push_back(arg->as_stand_in(gil));
    nodes.push_back(arg->as_node(gil));
  }
  PyRef result = result_of(t, function, tuple_of(values));
  if (is_number(result)) return std::make_shared<ConstantVariable>(std::move(result));
  if (!is_symbolic(result)) return nullptr;
  if (std::string_view(Py_TYPE(result.get())->tp_name) == "SymBool")
    return fixed(std::make_shared<SymbolVariable>(PyRef(), std::move(result)));
  PyRef node = t.graph().call_function(gil, function, tuple_of(nodes), PyRef());
  return symbol(t, std::move(node), std::move(result));
}

// ---- Sizes
// -----------------------------------------------------------------------------------------

namespace {

VarRef size_along(Translator& t, const VarRef& tensor, const char* method, PyBorrow value,
                  Py_ssize_t dimension) {
  if (!is_symbolic(value)) return std::make_shared<ConstantVariable>(PyRef::to(value));
  std::vector<PyRef> args;
  args.push_back(tensor->as_node(t.gil()));
  args.push_back(owned(PyLong_FromSsize_t(dimension)));
  PyRef node = t.graph().call_method(t.gil(), method, tuple_of(args), PyRef());
  return symbol(t, std::move(node), PyRef::to(value));
}

}  // namespace

VarRef sizes_of(Translator& t, const VarRef& tensor, const char* method) {
  PyRef sizes = call_method(t.gil(), tensor->as_stand_in(t.gil()), method, {});
  std::vector<VarRef> items;
  for (const PyBorrow size : items_of(sizes))
    items.push_back(size_along(t, tensor, method, size, static_cast<Py_ssize_t>(items.size())));
  if (std::none_of(items.begin(), items.end(), mentions_symbol))
    return std::make_shared<ConstantVariable>(std::move(sizes));
  if (PyTuple_CheckExact(sizes.get()))
    return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items));
  PyRef type = PyRef::to(PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(sizes.get()))));
  return std::make_shared<NamedTupleVariable>(std::move(type), std::move(items));
}

}  // namespace torchdyn
