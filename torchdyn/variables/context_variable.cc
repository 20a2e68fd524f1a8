#include "torchdyn/variables/context_variable.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

class ContextMethodVariable : public Variable {
 public:
  ContextMethodVariable(VarRef self, std::string name)
      : self_(std::move(self)), name_(std::move(name)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method of a ContextVar"; }
  std::vector<VarRef> parts() const override { return {self_}; }
  void rebuild(CodeWriter& w) const override {
    w.value(self_);
    w.attribute(torchdyn::name(name_));
  }
  const VarRef& self() const { return self_; }
  const std::string& name() const { return name_; }

 private:
  VarRef self_;
  std::string name_;
};

const ContextTokenVariable& token_of(const VarRef& token) {
  return static_cast<const ContextTokenVariable&>(*token);
}

VarRef get(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  if (const VarRef set = t.effects().context(self->object())) return token_of(set).value();
  const SourceRef source = Source::context_value(self->source());
  const PyBorrow value = source->read(t.frame());
  if (value) return wrap(t, value, source);
  t.guards().add(source, Absent{});
  if (!args.empty()) return args[0];
  raise(t, PyBorrow(PyExc_LookupError), std::vector<VarRef>{self});
}

VarRef set(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  const VarRef token =
      std::make_shared<ContextTokenVariable>(self, args[0], t.effects().context(self->object()));
  t.effects().set_context(self->object(), token);
  return token;
}

// Only the last that was set is taken back: tokens in another order are CPython's.
VarRef reset(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  if (!args[0] || t.effects().context(self->object()) != args[0])
    break_graph(BreakReason::kSideEffect, "a context variable that is reset to an older value");
  t.effects().set_context(self->object(), token_of(args[0]).before());
  return none();
}

struct MethodRow {
  std::string_view name;
  size_t least, most;
  VarRef (*run)(Translator&, const VarRef& self, const std::vector<VarRef>& args);
};

constexpr MethodRow kMethods[] = {{"get", 0, 1, get}, {"set", 1, 1, set}, {"reset", 1, 1, reset}};

VarRef call(Translator& t, const VarRef& variable, const CallArgs& args) {
  const auto& method = static_cast<const ContextMethodVariable&>(*variable);
  // Contexts keep their variables, so that guards may as well.
  t.guards().add(method.self()->source(), Equals{PyRef::to(method.self()->object())});
  for (const MethodRow& row : kMethods)
    if (row.name == method.name() && args.named.empty() && args.positional.size() >= row.least &&
        args.positional.size() <= row.most)
      return row.run(t, method.self(), args.positional);
  break_graph(BreakReason::kCall, str_cat("ContextVar.", method.name()));
}

const Slots& ContextMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call};
  return kSlots;
}

}  // namespace

const Slots& ContextTokenVariable::slots() const {
  static constexpr Slots kSlots{};
  return kSlots;
}

std::vector<VarRef> ContextTokenVariable::parts() const {
  std::vector<VarRef> all{value_};
  if (before_) all.push_back(before_);
  return all;
}

void ContextTokenVariable::rebuild(CodeWriter& w) const {
  if (before_) w.keep(before_);
  w.begin_call(std::make_shared<ContextMethodVariable>(variable_, "set"));
  w.value(value_);
  w.end_call(1);
}

VarRef method_of_context_variable(const VarRef& self, PyBorrow descriptor) {
  if (!self->object() || Py_TYPE(self->object().get()) != &PyContextVar_Type ||
      Py_TYPE(descriptor.get()) != &PyMethodDescr_Type)
    return nullptr;
  return std::make_shared<ContextMethodVariable>(
      self, std::string(utf8(PyBorrow(PyDescr_NAME(descriptor.get())))));
}

}  // namespace torchdyn
