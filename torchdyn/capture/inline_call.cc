#include "torchdyn/capture/inline_call.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/generator.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

// What a parameter is where the call does not say it; null: it must.
class Defaults {
 public:
  virtual ~Defaults() = default;
  virtual VarRef positional(int index, int parameters) const = 0;
  virtual VarRef named(const std::string& name) const = 0;
};

class MadeDefaults : public Defaults {
 public:
  explicit MadeDefaults(const FunctionVariable& function) : function_(function) {}

  VarRef positional(int index, int parameters) const override {
    const int at = index - parameters + static_cast<int>(function_.defaults.size());
    return at < 0 ? nullptr : function_.defaults[at];
  }
  VarRef named(const std::string& name) const override {
    for (const auto& [key, value] : function_.named_defaults)
      if (key == name) return value;
    return nullptr;
  }

 private:
  const FunctionVariable& function_;
};

class FoundDefaults : public Defaults {
 public:
  FoundDefaults(Translator& t, PyBorrow function, SourceRef source)
      : t_(t), function_(function), source_(std::move(source)) {}

  VarRef positional(int index, int parameters) const override {
    const PyBorrow defaults = part_of(function_, FunctionPart::kDefaults);
    if (!defaults) return nullptr;
    const SourceRef source = Source::part(source_, FunctionPart::kDefaults);
    t_.guards().add(source, Length{length(defaults)});  // which parameters have one
    const int at = index - parameters + static_cast<int>(length(defaults));
    if (at < 0) return nullptr;
    return wrap(t_, element(defaults, at), Source::element(source, at));
  }
  VarRef named(const std::string& name) const override {
    const PyBorrow defaults = part_of(function_, FunctionPart::kNamedDefaults);
    const PyBorrow value = dict_item(defaults, torchdyn::name(name));
    if (!value) return nullptr;
    const SourceRef source = Source::part(source_, FunctionPart::kNamedDefaults);
    return wrap(t_, value, Source::item(source, name));
  }

 private:
  Translator& t_;
  PyBorrow function_;
  SourceRef source_;
};

[[noreturn]] void raises(CodeView code, std::string_view what) {
  break_graph(BreakReason::kRaises, str_cat(code.name(), "() ", what));
}

VarRef string(std::string_view text) {
  return std::make_shared<ConstantVariable>(torchdyn::name(text));
}

// CPython: Python/ceval.c, initialize_locals.
std::vector<VarRef> bind(CodeView code, const CallArgs& args, const Defaults& defaults) {
  const int positional = code.get()->co_argcount;
  const int positional_only = code.get()->co_posonlyargcount;
  const int parameters = positional + code.get()->co_kwonlyargcount;
  const bool takes_more = (code.flags() & CO_VARARGS) != 0;
  const bool takes_named = (code.flags() & CO_VARKEYWORDS) != 0;
  std::vector<VarRef> locals(code.slots());
  const int given = static_cast<int>(args.positional.size());
  const int bound = std::min(given, positional);
  std::copy_n(args.positional.begin(), bound, locals.begin());
  if (given > positional && !takes_more) raises(code, "takes fewer positional arguments");
  if (takes_more)
    locals[parameters] = std::make_shared<SequenceVariable>(
        /*is_list=*/false,
        std::vector<VarRef>(args.positional.begin() + bound, args.positional.end()));
  DictVariable::Entries more;
  for (const auto& [name, value] : args.named) {
    int slot = positional_only;
    while (slot < parameters && code.slot_name(slot) != name) ++slot;
    if (slot < parameters) {
      if (locals[slot]) raises(code, "got multiple values for one argument");
      locals[slot] = value;
    } else {
      if (!takes_named) raises(code, str_cat("got an unexpected keyword argument ", name));
      more.emplace_back(string(name), value);
    }
  }
  if (takes_named)
    locals[parameters + (takes_more ? 1 : 0)] = std::make_shared<DictVariable>(std::move(more));
  for (int slot = 0; slot < parameters; ++slot) {
    if (locals[slot]) continue;
    locals[slot] = slot < positional ? defaults.positional(slot, positional)
                                     : defaults.named(std::string(code.slot_name(slot)));
    if (!locals[slot]) raises(code, str_cat("misses the argument ", code.slot_name(slot)));
  }
  return locals;
}

void add_closure(CodeView code, const std::vector<VarRef>& cells, std::vector<VarRef>* locals) {
  TD_CHECK(static_cast<int>(cells.size()) == code.free_slots(), "one cell a free variable");
  std::copy(cells.begin(), cells.end(), locals->end() - code.free_slots());
}

void expect_function(CodeView code) {
  constexpr int kAsynchronous = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  if ((code.flags() & kAsynchronous) != 0)
    break_graph(BreakReason::kGeneratorFrame, std::string(code.name()));
  if (!code.is_function()) break_graph(BreakReason::kCall, std::string(code.name()));
}

// A call of a generator function gives a generator, which has not begun.
VarRef run(Translator& t, CodeView code, PyBorrow globals, SourceRef source,
           std::vector<VarRef> locals) {
  if (!code.is_generator())
    return t.run_function(code, globals, std::move(source), std::move(locals));
  return std::make_shared<GeneratorVariable>(
      t.suspended(code, globals, std::move(source), std::move(locals)));
}

}  // namespace

VarRef inline_call(Translator& t, const FunctionVariable& function, const CallArgs& args) {
  const CodeView code = CodeView::of(function.code());
  expect_function(code);
  std::vector<VarRef> locals = bind(code, args, MadeDefaults(function));
  add_closure(code, function.closure, &locals);
  return run(t, code, function.globals(), function.globals_source(), std::move(locals));
}

VarRef inline_call(Translator& t, const ObjectVariable& function, const CallArgs& args) {
  const PyBorrow object = function.object();
  const auto* const raw = reinterpret_cast<const PyFunctionObject*>(object.get());
  if (PyBorrow(raw->func_builtins) != t.frame().builtins())
    break_graph(BreakReason::kCall, "a function with builtins of its own");
  const CodeView code = CodeView::of(part_of(object, FunctionPart::kCode));
  expect_function(code);
  t.guard_identity(function);
  const SourceRef found = t.canonical_function(object, function.source());
  auto same_code = Same::of(code.object());
  TD_CHECK(same_code.has_value(), "code objects take weak references");
  t.guards().add(Source::part(found, FunctionPart::kCode), std::move(*same_code));

  std::vector<VarRef> locals = bind(code, args, FoundDefaults(t, object, found));
  std::vector<VarRef> cells;
  const SourceRef closure = Source::part(found, FunctionPart::kClosure);
  for (int n = 0; n < code.free_slots(); ++n)
    cells.push_back(t.cell_from_outside(element(part_of(object, FunctionPart::kClosure), n),
                                        Source::cell(Source::element(closure, n))));
  add_closure(code, cells, &locals);
  const PyBorrow globals = part_of(object, FunctionPart::kGlobals);
  const SourceRef source = Source::part(found, FunctionPart::kGlobals);
  return run(t, code, globals, t.canonical_globals(globals, source), std::move(locals));
}

}  // namespace torchdyn
