// Iterators and containers. CPython: Python/bltinmodule.c.
#include <algorithm>

#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/generator.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

VarRef length(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  return protocol::length(t, args.positional[0]);
}

VarRef iterator(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  return protocol::iterate(t, args.positional[0]);
}

VarRef enumerate(Translator& t, PyBorrow function, const CallArgs& args) {
  CallArgs all{args.positional, {}};
  for (const auto& [name, value] : args.named)
    if (name == "start" && all.positional.size() == 1) all.positional.push_back(value);
  if (all.positional.size() != args.positional.size() + args.named.size())
    unknown_arguments(function, "with these arguments");
  expect_positional(function, all, 1, 2);
  long start = 0;
  if (all.positional.size() == 2) {
    const PyBorrow given = all.positional[1]->object();
    if (!given || !PyLong_CheckExact(given.get()))
      unknown_arguments(function, "from an unknown start");
    start = PyLong_AsLong(given.get());
    if (PyErr_Occurred()) throw PythonError();
  }
  return std::make_shared<EnumerateIterator>(protocol::iterate(t, all.positional[0]), start);
}

bool is_strict(Translator& t, PyBorrow function,
               const std::vector<std::pair<std::string, VarRef>>& named) {
  if (named.size() > 1 || (named.size() == 1 && named[0].first != "strict"))
    unknown_arguments(function, "with these arguments");
  return named.size() == 1 && protocol::truth(t, named[0].second);
}

VarRef zip(Translator& t, PyBorrow function, const CallArgs& args) {
  CallArgs all{args.positional, {}};
  if (is_strict(t, function, args.named)) {
    for (VarRef& arg : all.positional)
      arg = std::make_shared<SequenceVariable>(/*is_list=*/false, protocol::all_items(t, arg));
    for (const VarRef& arg : all.positional)
      if (arg->items()->size() != all.positional[0]->items()->size())
        break_graph(BreakReason::kRaises, "zip() of arguments of other lengths");
  }
  expect_positional(function, all, 0, 64);
  std::vector<VarRef> inner;
  for (const VarRef& arg : all.positional) inner.push_back(protocol::iterate(t, arg));
  return std::make_shared<ZipIterator>(std::move(inner));
}

template <bool is_list>
VarRef sequence(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 1);
  std::vector<VarRef> items;
  if (!args.positional.empty()) items = protocol::all_items(t, args.positional[0]);
  return std::make_shared<SequenceVariable>(is_list, std::move(items));
}

template <bool answer>
VarRef any_or_all(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  const VarRef iterator = protocol::iterate(t, args.positional[0]);
  while (const VarRef value = protocol::next(t, iterator))
    if (protocol::truth(t, value) == answer) return boolean(answer);
  return boolean(!answer);
}

VarRef next(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 2);
  if (VarRef value = protocol::next(t, args.positional[0])) return value;
  if (args.positional.size() == 2) return args.positional[1];
  raise_stop_iteration(t, args.positional[0]);
}

// CPython: Python/bltinmodule.c, builtin_sum_impl.
VarRef sum(Translator& t, PyBorrow function, const CallArgs& args) {
  CallArgs all{args.positional, {}};
  for (const auto& [name, value] : args.named)
    if (name == "start") all.positional.push_back(value);
  expect_positional(function, all, 1, 2);
  VarRef total = all.positional.size() == 2
                     ? all.positional[1]
                     : std::make_shared<ConstantVariable>(owned(PyLong_FromLong(0)));
  for (const VarRef& value : protocol::all_items(t, all.positional[0]))
    total = protocol::number(t, "add", total, value);
  return total;
}

VarRef map(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 64);
  std::vector<VarRef> inner;
  for (size_t n = 1; n < args.positional.size(); ++n)
    inner.push_back(protocol::iterate(t, args.positional[n]));
  return std::make_shared<MapIterator>(args.positional[0],
                                       std::make_shared<ZipIterator>(std::move(inner)));
}

// Of constants; with a key only where capture knows the order of the keys.
VarRef sorted(Translator& t, PyBorrow function, const CallArgs& args) {
  std::vector<VarRef> items = protocol::all_items(t, args.positional.at(0));
  CallArgs plain{{std::make_shared<SequenceVariable>(true, std::move(items))}, args.named};
  return protocol::fold(t, function, plain);
}

// What has keys(). CPython: Objects/dictobject.c, dict_update_arg.
bool is_mapping(Translator& t, const VarRef& value) {
  return dynamic_cast<const DictVariable*>(value.get()) ||
         (is_object(value) && find_attribute(t, value, "keys"));
}

VarRef dict(Translator& t, PyBorrow function, const CallArgs& args) {
  if (args.positional.size() > 1) unknown_arguments(function, "with these arguments");
  const auto made = std::make_shared<DictVariable>(DictVariable::Entries{});
  if (!args.positional.empty()) {
    if (is_mapping(t, args.positional[0])) {
      for (const auto& [key, value] : entries_of(t, args.positional[0])) made->set(key, value);
    } else {
      for (const VarRef& pair : protocol::all_items(t, args.positional[0])) {
        const std::vector<VarRef> both = protocol::all_items(t, pair);
        if (both.size() != 2) break_graph(BreakReason::kRaises, "a pair of another length");
        made->set(both[0], both[1]);
      }
    }
  }
  for (const auto& [name, value] : args.named)
    made->set(std::make_shared<ConstantVariable>(torchdyn::name(name)), value);
  return made;
}

VarRef set(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 1);
  const auto made = std::make_shared<SetVariable>(owned(PySet_New(nullptr)));
  if (args.positional.empty()) return made;
  for (const VarRef& value : protocol::all_items(t, args.positional[0])) made->add(t, value);
  return made;
}

VarRef reversed(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  if (!args.positional[0]->items())
    unknown_arguments(function, "of a " + args.positional[0]->type_name());
  std::vector<VarRef> items = protocol::all_items(t, args.positional[0]);
  std::reverse(items.begin(), items.end());
  return std::make_shared<SequenceIterator>(
      std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items)));
}

constexpr BuiltinRow kRows[] = {
    {"builtins", "all", any_or_all<false>},
    {"builtins", "any", any_or_all<true>},
    {"builtins", "dict", dict},
    {"builtins", "enumerate", enumerate},
    {"builtins", "iter", iterator},
    {"builtins", "len", length},
    {"builtins", "list", sequence<true>},
    {"builtins", "map", map},
    {"builtins", "next", next},
    {"builtins", "reversed", reversed},
    {"builtins", "set", set},
    {"builtins", "sorted", sorted},
    {"builtins", "sum", sum},
    {"builtins", "tuple", sequence<false>},
    {"builtins", "zip", zip},
};

}  // namespace

const std::span<const BuiltinRow> kIterationBuiltins = kRows;

}  // namespace torchdyn
