#include "torchdyn/variables/generator.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

const GeneratorVariable& generator_of(const VarRef& self) {
  return static_cast<const GeneratorVariable&>(*self);
}

// An exception, as throw() takes it.
std::shared_ptr<const ExceptionVariable> thrown(Translator& t, const std::vector<VarRef>& args) {
  const VarRef& given = args.size() > 1 && !protocol::is_none(t, args[1]) ? args[1] : args[0];
  const bool is_class = given->object() && PyExceptionClass_Check(given->object().get());
  auto exception = std::dynamic_pointer_cast<const ExceptionVariable>(
      is_class ? protocol::call(t, given, {}) : given);
  if (!exception) break_graph(BreakReason::kExceptions, "an exception that came from elsewhere");
  return exception;
}

VarRef next_value(Translator& t, const VarRef& self, const std::vector<VarRef>&) {
  if (VarRef value = generator_of(self).next(t)) return value;
  raise_stop_iteration(t, self);
}

VarRef send_value(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  if (VarRef value = generator_of(self).send(t, args[0])) return value;
  raise_stop_iteration(t, self);
}

VarRef throw_exception(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  const auto exception = thrown(t, args);
  if (generator_of(self).has_ended()) throw Raised{exception};
  if (VarRef value = generator_of(self).throw_into(t, {exception})) return value;
  raise_stop_iteration(t, self);
}

// CPython: Objects/genobject.c, gen_close.
VarRef close(Translator& t, const VarRef& self, const std::vector<VarRef>&) {
  if (generator_of(self).has_ended()) return none();
  try {
    raise(t, PyBorrow(PyExc_GeneratorExit), std::vector<VarRef>{});
  } catch (const Raised& exit) {
    try {
      if (!generator_of(self).throw_into(t, exit)) return none();
    } catch (const Raised& raised) {
      if (is_a(raised, PyBorrow(PyExc_GeneratorExit)) ||
          is_a(raised, PyBorrow(PyExc_StopIteration)))
        return none();
      throw;
    }
  }
  raise(t, PyBorrow(PyExc_RuntimeError), "generator ignored GeneratorExit");
}

struct MethodRow {
  std::string_view name;
  size_t least, most;
  VarRef (*run)(Translator&, const VarRef& self, const std::vector<VarRef>& args);
};

constexpr MethodRow kMethods[] = {{"__next__", 0, 0, next_value},
                                  {"close", 0, 0, close},
                                  {"send", 1, 1, send_value},
                                  {"throw", 1, 3, throw_exception}};

class GeneratorMethodVariable : public Variable {
 public:
  GeneratorMethodVariable(VarRef self, const MethodRow& row) : self_(std::move(self)), row_(row) {}

  const Slots& slots() const override {
    static constexpr Slots kSlots{.call = call};
    return kSlots;
  }
  std::string type_name() const override { return "method of a generator"; }

 private:
  static VarRef call(Translator& t, const VarRef& variable, const CallArgs& args) {
    const auto& method = static_cast<const GeneratorMethodVariable&>(*variable);
    const size_t given = args.positional.size();
    if (!args.named.empty() || given < method.row_.least || given > method.row_.most)
      break_graph(BreakReason::kCall, str_cat("generator.", method.row_.name));
    return method.row_.run(t, method.self_, args.positional);
  }

  VarRef self_;
  const MethodRow& row_;
};

VarRef get_attribute(Translator&, const VarRef& self, const std::string& name) {
  for (const MethodRow& row : kMethods)
    if (row.name == name) return std::make_shared<GeneratorMethodVariable>(self, row);
  break_graph(BreakReason::kAttribute, str_cat("generator.", name));
}

VarRef itself(Translator&, const VarRef& self) { return self; }

}  // namespace

const Slots& GeneratorVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute, .iterate = itself};
  return kSlots;
}

VarRef GeneratorVariable::next(Translator& t) const { return send(t, none()); }

// CPython: Objects/genobject.c, gen_send_ex2.
VarRef GeneratorVariable::send(Translator& t, const VarRef& value) const {
  return suspended_.empty() ? nullptr : t.resume(&suspended_, &returned_, value);
}

VarRef GeneratorVariable::throw_into(Translator& t, const Raised& raised) const {
  return suspended_.empty() ? nullptr : t.resume(&suspended_, &returned_, none(), &raised);
}

void raise_stop_iteration(Translator& t, const VarRef& iterator) {
  const auto* const generator = dynamic_cast<const GeneratorVariable*>(iterator.get());
  std::vector<VarRef> value;
  if (generator && generator->returned() && !protocol::is_none(t, generator->returned()))
    value.push_back(generator->returned());
  raise(t, PyBorrow(PyExc_StopIteration), std::move(value));
}

}  // namespace torchdyn
