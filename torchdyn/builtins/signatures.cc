// inspect.signature, as far as a function's code decides what it says.
#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

class SignatureVariable : public Variable {
 public:
  explicit SignatureVariable(VarRef parameters) : parameters_(std::move(parameters)) {}

  const Slots& slots() const override {
    static constexpr Slots kSlots{.getattro = get_attribute};
    return kSlots;
  }
  std::string type_name() const override { return "Signature"; }

 private:
  static VarRef get_attribute(Translator&, const VarRef& self, const std::string& name) {
    if (name != "parameters") break_graph(BreakReason::kAttribute, "Signature." + name);
    return static_cast<const SignatureVariable&>(*self).parameters_;
  }

  VarRef parameters_;
};

// The parameters' names and kinds, of a function that wraps no other; defaults are not asked for.
VarRef signature(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  VarRef of = args.positional[0];
  const auto* const method = dynamic_cast<const BoundMethodVariable*>(of.get());
  const bool is_bound = method != nullptr;
  if (method) of = method->function();
  if (!of->object() || !PyFunction_Check(of->object().get()))
    unknown_arguments(function, "of a " + of->type_name());
  for (const char* name : {"__wrapped__", "__signature__"}) {
    if (member(of->object(), torchdyn::name(name)))
      unknown_arguments(function, "of a function that stands for another");
    if (of->source()) t.guards().add(Source::member(of->source(), name), Absent{});
  }
  t.guard_identity(*of);
  if (of->source()) {
    auto code = Same::of(part_of(of->object(), FunctionPart::kCode));
    t.guards().add(Source::part(of->source(), FunctionPart::kCode), std::move(*code));
  }
  std::vector<PyRef> of_it;
  of_it.push_back(PyRef::to(of->object()));
  const PyRef made = call(t.gil(), function, tuple_of(of_it));
  const PyRef parameters = owned(PyDict_New());
  if (PyDict_Update(parameters.get(), attribute(t.gil(), made, "parameters").get()) != 0)
    throw PythonError();
  DictVariable::Entries entries;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(parameters.get(), &at, &key, &value) != 0;)
    entries.emplace_back(
        std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(key))),
        std::make_shared<ObjectVariable>(PyRef::to(PyBorrow(value)),
                                         Source::fixed(PyBorrow(value), "Parameter")));
  if (is_bound && !entries.empty()) entries.erase(entries.begin());
  return std::make_shared<SignatureVariable>(std::make_shared<DictVariable>(std::move(entries)));
}

constexpr BuiltinRow kRows[] = {{"inspect", "signature", signature}};

}  // namespace

const std::span<const BuiltinRow> kSignatureBuiltins = kRows;

}  // namespace torchdyn
