// Functions of torch that are given functions: what those compute is a graph within the graph.
#include <algorithm>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/record.h"

namespace torchdyn {
namespace {

constexpr const char* kSubgraphs = "torchdyn.subgraphs";

const TensorVariable* as_tensor(const VarRef& value) {
  return dynamic_cast<const TensorVariable*>(value.get());
}

bool requires_grad(const Gil& gil, const VarRef& value) {
  const auto* const tensor = as_tensor(value);
  return tensor && attribute(gil, tensor->like(), "requires_grad").get() == Py_True;
}

// Recorded from here on: nothing but nodes and tensors, none of which is seen outside but as a
// result.
class Nested {
 public:
  explicit Nested(Translator& t)
      : t_(t), tensors_(t.tensors().size()), effects_(t.effects().size()), begin_(mark()) {}

  PyBorrow begin() const { return begin_; }
  PyRef mark() const {
    return torchdyn::call_method(t_.gil(), owned(PyImport_ImportModule(kSubgraphs)), "mark",
                                 {t_.graph().graph()});
  }

  // The tensors among what a function gave that were made here.
  std::vector<VarRef> made_in(const VarRef& result) const {
    aten_bridge::HashSet<const Variable*> mine, seen;
    for (size_t n = tensors_; n < t_.tensors().size(); ++n) mine.insert(t_.tensors()[n].get());
    std::vector<VarRef> found, waiting{result};
    while (!waiting.empty()) {
      const VarRef value = std::move(waiting.back());
      waiting.pop_back();
      if (!seen.insert(value.get()).second) continue;
      if (mine.contains(value.get())) found.push_back(value);
      for (VarRef& part : value->parts()) waiting.push_back(std::move(part));
    }
    return found;
  }

  // One of subgraphs.py's functions takes the nodes away; of these tensors it gives others.
  PyRef replace(const char* function, const std::vector<VarRef>& results,
                std::vector<PyRef> more) const {
    if (t_.effects().size() != effects_)
      break_graph(BreakReason::kSideEffect, "in a function that torch is given");
    std::vector<PyRef> args;
    args.push_back(PyRef::to(t_.graph().graph()));
    args.push_back(PyRef::to(t_.graph().root()));
    args.push_back(PyRef::to(begin_));
    for (PyRef& arg : more) args.push_back(std::move(arg));
    const PyRef nodes =
        call(t_.gil(), import_attribute(t_.gil(), kSubgraphs, function), tuple_of(args));
    for (size_t n = tensors_; n < t_.tensors().size(); ++n)
      static_cast<const TensorVariable&>(*t_.tensors()[n]).hide();
    for (size_t n = 0; n < results.size(); ++n)
      static_cast<const TensorVariable&>(*results[n]).give(PyRef::to(items_of(nodes)[n]));
    return PyRef::to(nodes);
  }

 private:
  Translator& t_;
  size_t tensors_, effects_;
  PyRef begin_;
};

PyRef nodes_of(const Gil& gil, const std::vector<VarRef>& values) {
  std::vector<PyRef> nodes;
  for (const VarRef& value : values) nodes.push_back(value->as_node(gil));
  return tuple_of(nodes);
}

// ---- torch.utils.checkpoint.checkpoint

constexpr std::string_view kOfCheckpoint[] = {"use_reentrant", "preserve_rng_state",
                                              "determinism_check"};

VarRef checkpoint(Translator& t, PyBorrow function, const CallArgs& args) {
  if (args.positional.empty()) unknown_arguments(function, "of nothing");
  CallArgs inner{{args.positional.begin() + 1, args.positional.end()}, {}};
  const PyRef options = owned(PyDict_New());
  for (const auto& [name, value] : args.named) {
    if (std::find(std::begin(kOfCheckpoint), std::end(kOfCheckpoint), name) ==
        std::end(kOfCheckpoint)) {
      inner.named.emplace_back(name, value);
    } else if (PyDict_SetItemString(options.get(), name.c_str(), value->as_node(t.gil()).get()) !=
               0) {
      throw PythonError();
    }
  }
  for (const auto& [name, value] : inner.named)
    if (name == "context_fn" || name == "debug") unknown_arguments(function, "with " + name);
  const PyBorrow reentrant = dict_item(options, name("use_reentrant"));
  const bool is_differentiable =
      !t.grad_mode() || std::any_of(inner.positional.begin(), inner.positional.end(),
                                    [&](const VarRef& arg) { return requires_grad(t.gil(), arg); });
  if (!reentrant || (reentrant.get() != Py_False && !is_differentiable))
    unknown_arguments(function, "whose inputs need no gradient");
  const Nested nested(t);
  VarRef result = protocol::call(t, args.positional[0], inner);
  const std::vector<VarRef> made = nested.made_in(result);
  std::vector<PyRef> more;
  more.push_back(nodes_of(t.gil(), made));
  more.push_back(PyRef::to(options));
  (void)nested.replace("checkpointed", made, std::move(more));
  return result;
}

// ---- torch.cond

VarRef cond(Translator& t, PyBorrow function, const CallArgs& args) {
  CallArgs all{args.positional, {}};
  for (const auto& [name, value] : args.named)
    if (name == "operands") all.positional.push_back(value);
  expect_positional(function, all, 3, 4);
  if (!as_tensor(all.positional[0])) unknown_arguments(function, "of a constant");
  const CallArgs operands{all.positional.size() == 4 ? protocol::all_items(t, all.positional[3])
                                                     : std::vector<VarRef>{},
                          {}};
  const Nested nested(t);
  const VarRef when_true = protocol::call(t, all.positional[1], operands);
  const PyRef between = nested.mark();
  const VarRef when_false = protocol::call(t, all.positional[2], operands);
  const auto results = [](const VarRef& value) {
    return as_tensor(value) ? std::vector<VarRef>{value}
           : value->items() ? *value->items()
                            : std::vector<VarRef>{nullptr};
  };
  const std::vector<VarRef> made = results(when_true), others = results(when_false);
  const auto is_no_tensor = [](const VarRef& value) { return !value || !as_tensor(value); };
  if (made.size() != others.size() || std::any_of(made.begin(), made.end(), is_no_tensor) ||
      std::any_of(others.begin(), others.end(), is_no_tensor) ||
      made.size() != nested.made_in(when_true).size())
    unknown_arguments(function, "whose branches give other than tensors of their own");
  std::vector<PyRef> more;
  more.push_back(PyRef::to(between));
  more.push_back(all.positional[0]->as_node(t.gil()));
  more.push_back(nodes_of(t.gil(), made));
  more.push_back(nodes_of(t.gil(), others));
  (void)nested.replace("conditional", made, std::move(more));
  return when_true;
}

// ---- torch.autograd.Function.apply

// Runs a function without gradients, as the engine does.
VarRef call_without_grad(Translator& t, const VarRef& function, const CallArgs& args) {
  const bool before = t.grad_mode();
  t.set_grad_mode(false);
  try {
    VarRef result = protocol::call(t, function, args);
    t.set_grad_mode(before);
    return result;
  } catch (const Raised&) {
    t.set_grad_mode(before);
    throw;
  }
}

class FunctionCall {
 public:
  FunctionCall(Translator& t, const CallArgs& args)
      : t_(t),
        class_(args.positional[0]),
        inputs_(args.positional.begin() + 1, args.positional.end()),
        nested_(t) {
    const PyRef type = import_attribute(t.gil(), kSubgraphs, "Context");
    context_ = std::make_shared<InstanceVariable>(object_at(type, Source::fixed(type, "Context")));
    std::vector<VarRef> needs;
    for (const VarRef& input : inputs_) {
      needs.push_back(boolean(t.grad_mode() && requires_grad(t.gil(), input)));
      is_differentiable_ |= needs.back()->object().get() == Py_True;
    }
    context_->set_own("needs_input_grad",
                      std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(needs)));
  }

  VarRef run() {
    const VarRef output = run_forward();
    if (is_set("_torchdyn_dirty"))
      break_graph(BreakReason::kCall, "torch.autograd.Function that changes its inputs");
    const bool is_one = as_tensor(output) != nullptr;
    std::vector<VarRef> outputs = is_one ? std::vector<VarRef>{output} : of_tuple(output);
    for (VarRef& value : outputs)
      if (as_tensor(value) && std::find(inputs_.begin(), inputs_.end(), value) != inputs_.end())
        value = call_without_grad(t_, protocol::get_attribute(t_, value, "view_as"), {{value}, {}});
    if (is_differentiable_) {
      differentiate(&outputs);
    } else {
      expect_no_grad();
    }
    if (is_one) return outputs[0];
    return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(outputs));
  }

 private:
  VarRef run_forward() {
    CallArgs args{inputs_, {}};
    const VarRef setup = protocol::get_attribute(t_, class_, "setup_context");
    const VarRef forward = protocol::get_attribute(t_, class_, "forward");
    const PyRef base =
        import_attribute(t_.gil(), "torch.autograd.function", "_SingleLevelFunction");
    if (setup->object() == PyBorrow(attribute(t_.gil(), base, "setup_context"))) {
      args.positional.insert(args.positional.begin(), context_);
      return call_without_grad(t_, forward, args);
    }
    VarRef output = call_without_grad(t_, forward, args);
    const VarRef inputs = std::make_shared<SequenceVariable>(/*is_list=*/false, inputs_);
    (void)call_without_grad(t_, setup, {{context_, inputs, output}, {}});
    return output;
  }

  bool is_set(const char* name) const { return context_->own(name) != nullptr; }

  static std::vector<VarRef> of_tuple(const VarRef& value) {
    const auto* const tuple = dynamic_cast<const SequenceVariable*>(value.get());
    if (!tuple || tuple->is_list())
      break_graph(BreakReason::kCall, "torch.autograd.Function that gives a " + value->type_name());
    return *tuple->items();
  }

  // Its operators are the graph's own: without gradients, as in eager.
  void expect_no_grad() const {
    if (!t_.grad_mode()) return;
    const PyRef operands = torchdyn::call_method(t_.gil(), owned(PyImport_ImportModule(kSubgraphs)),
                                                 "operands", {t_.graph().graph(), nested_.begin()});
    for (const VarRef& tensor : t_.tensors())
      for (const PyBorrow operand : items_of(operands))
        if (static_cast<const TensorVariable&>(*tensor).node() == operand &&
            requires_grad(t_.gil(), tensor))
          break_graph(BreakReason::kCall, "torch.autograd.Function that uses other parameters");
  }

  VarRef arriving_for(const TensorVariable& output) const {
    const PyRef like = torchdyn::call_method(
        t_.gil(), torchdyn::call_method(t_.gil(), output.like(), "detach", {}), "clone", {});
    PyRef node = torchdyn::call_method(t_.gil(), t_.graph().graph(), "placeholder", {name("grad")});
    return t_.remember(std::make_shared<TensorVariable>(std::move(node), PyRef::to(like),
                                                        PyRef::to(output.device()), output.type()));
  }

  // Its backward, of gradients that arrive, and then a node that has both.
  void differentiate(std::vector<VarRef>* outputs) {
    if (is_set("_torchdyn_materializes"))
      break_graph(BreakReason::kCall, "torch.autograd.Function that may get no gradient");
    const PyRef between = nested_.mark();
    std::vector<VarRef> arriving;
    for (const VarRef& output : *outputs) {
      const auto* const tensor = as_tensor(output);
      if (!tensor) break_graph(BreakReason::kCall, "torch.autograd.Function that gives no tensor");
      arriving.push_back(arriving_for(*tensor));
    }
    CallArgs args{arriving, {}};
    args.positional.insert(args.positional.begin(), context_);
    const VarRef result =
        call_without_grad(t_, protocol::get_attribute(t_, class_, "backward"), args);
    const std::vector<VarRef> gradients =
        as_tensor(result) ? std::vector<VarRef>{result} : of_tuple(result);
    if (gradients.size() < inputs_.size())
      break_graph(BreakReason::kRaises, "torch.autograd.Function with too few gradients");
    std::vector<VarRef> sources, theirs;
    for (size_t n = 0; n < inputs_.size(); ++n) {
      if (!requires_grad(t_.gil(), inputs_[n])) continue;
      if (std::find(sources.begin(), sources.end(), inputs_[n]) != sources.end())
        break_graph(BreakReason::kCall, "torch.autograd.Function that is given a tensor twice");
      sources.push_back(inputs_[n]);
      theirs.push_back(gradients[n]);
    }
    replace_by_node(outputs, between, sources, theirs, arriving);
  }

  void replace_by_node(std::vector<VarRef>* outputs, PyBorrow between,
                       const std::vector<VarRef>& sources, const std::vector<VarRef>& gradients,
                       const std::vector<VarRef>& arriving) {
    const Gil& gil = t_.gil();
    std::vector<VarRef> fixed;
    if (const VarRef marked = context_->own("_torchdyn_fixed")) fixed = *marked->items();
    std::vector<PyRef> places;
    std::vector<VarRef> results;
    for (const VarRef& output : *outputs) {
      const auto& old = *as_tensor(output);
      const bool is_fixed = std::find(fixed.begin(), fixed.end(), output) != fixed.end();
      PyRef like = torchdyn::call_method(gil, old.like(), "detach", {});
      const PyRef floats = torchdyn::call_method(gil, like, "is_floating_point", {});
      if (is_fixed) places.push_back(owned(PyLong_FromSize_t(results.size())));
      if (!is_fixed && floats.get() == Py_True)
        (void)torchdyn::call_method(gil, like, "requires_grad_", {});
      results.push_back(std::make_shared<TensorVariable>(PyRef(), std::move(like),
                                                         PyRef::to(old.device()), old.type()));
    }
    std::vector<PyRef> more;
    more.push_back(PyRef::to(between));
    more.push_back(nodes_of(gil, *outputs));
    more.push_back(nodes_of(gil, sources));
    more.push_back(nodes_of(gil, gradients));
    more.push_back(nodes_of(gil, arriving));
    more.push_back(tuple_of(places));
    (void)nested_.replace("differentiated", results, std::move(more));
    for (const VarRef& result : results) (void)t_.remember(result);
    *outputs = results;
  }

  Translator& t_;
  VarRef class_;
  std::vector<VarRef> inputs_;
  Nested nested_;
  std::shared_ptr<InstanceVariable> context_;
  bool is_differentiable_ = false;
};

VarRef apply(Translator& t, PyBorrow function, const CallArgs& args) {
  const bool is_class = !args.positional.empty() && args.positional[0]->object() &&
                        PyType_Check(args.positional[0]->object().get());
  if (!is_class || !args.named.empty()) unknown_arguments(function, "with these arguments");
  return FunctionCall(t, args).run();
}

constexpr BuiltinRow kRows[] = {
    {"torch._higher_order_ops.cond", "cond", cond},
    {"torch.autograd.function", "Function.apply", apply},
    {"torch.utils.checkpoint", "checkpoint", checkpoint},
};

}  // namespace

const std::span<const BuiltinRow> kHigherOrderBuiltins = kRows;

}  // namespace torchdyn
