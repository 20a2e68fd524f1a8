// functools, itertools, operator, and what of torch sets modes.
#include <algorithm>

#include "torchdyn/builtins/arguments.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/record.h"

namespace torchdyn {
namespace {

VarRef list_iterator(std::vector<VarRef> items) {
  return std::make_shared<SequenceIterator>(
      std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items)));
}

VarRef partial(Translator&, PyBorrow function, const CallArgs& args) {
  if (args.positional.empty()) unknown_arguments(function, "of nothing");
  CallArgs rest{{args.positional.begin() + 1, args.positional.end()}, args.named};
  return std::make_shared<PartialVariable>(args.positional[0], std::move(rest));
}

VarRef reduce(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 3);
  VarRef total = args.positional.size() == 3 ? args.positional[2] : nullptr;
  for (const VarRef& item : protocol::all_items(t, args.positional[1]))
    total = total ? protocol::call(t, args.positional[0], {{total, item}, {}}) : item;
  if (!total) break_graph(BreakReason::kRaises, "reduce() of nothing");
  return total;
}

VarRef filter(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  const VarRef& test = args.positional[0];
  const bool is_plain = test->object() && test->object().get() == Py_None;
  std::vector<VarRef> kept;
  for (const VarRef& item : protocol::all_items(t, args.positional[1]))
    if (protocol::truth(t, is_plain ? item : protocol::call(t, test, {{item}, {}})))
      kept.push_back(item);
  return list_iterator(std::move(kept));
}

VarRef chain(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 64);
  std::vector<VarRef> items;
  for (const VarRef& part : args.positional)
    for (VarRef& item : protocol::all_items(t, part)) items.push_back(std::move(item));
  return list_iterator(std::move(items));
}

VarRef product(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 16);
  std::vector<std::vector<VarRef>> rows{{}};
  for (const VarRef& factor : args.positional) {
    std::vector<std::vector<VarRef>> longer;
    const std::vector<VarRef> items = protocol::all_items(t, factor);
    for (const auto& row : rows)
      for (const VarRef& item : items) {
        longer.push_back(row);
        longer.back().push_back(item);
      }
    rows = std::move(longer);
  }
  std::vector<VarRef> tuples;
  for (auto& row : rows)
    tuples.push_back(std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(row)));
  return list_iterator(std::move(tuples));
}

VarRef count(Translator&, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 1);
  const bool has_start = !args.positional.empty();
  if (has_start &&
      (!args.positional[0]->object() || !PyLong_CheckExact(args.positional[0]->object().get())))
    unknown_arguments(function, "from an unknown start");
  const long start = has_start ? PyLong_AsLong(args.positional[0]->object().get()) : 0;
  return std::make_shared<CountIterator>(start);
}

// The number that an argument is; breaks where it is none.
long number(PyBorrow function, const VarRef& value) {
  if (!value->object() || !PyLong_CheckExact(value->object().get()))
    unknown_arguments(function, "with a number that is a " + value->type_name());
  const long known = PyLong_AsLong(value->object().get());
  if (PyErr_Occurred()) throw PythonError();
  return known;
}

VarRef repeat(Translator&, PyBorrow function, const CallArgs& args) {
  constexpr long kMostItems = 10'000;
  CallArgs all{args.positional, {}};
  for (const auto& [name, value] : args.named)
    if (name == "times") all.positional.push_back(value);
  expect_positional(function, all, 2, 2);
  const long times = number(function, all.positional[1]);
  if (times > kMostItems) break_graph(BreakReason::kLength, "itertools.repeat");
  return list_iterator(std::vector<VarRef>(std::max(times, 0L), all.positional[0]));
}

// islice(iterable, stop) and (iterable, start, stop): no more is taken than CPython's takes.
VarRef slice(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 3);
  const long start = args.positional.size() == 3 ? number(function, args.positional[1]) : 0;
  const VarRef iterator = protocol::iterate(t, args.positional[0]);
  if (protocol::is_none(t, args.positional.back())) {
    for (long n = 0; n < start && protocol::next(t, iterator); ++n) continue;
    return iterator;
  }
  const long stop = number(function, args.positional.back());
  std::vector<VarRef> items;
  for (long n = 0; n < stop; ++n) {
    VarRef item = protocol::next(t, iterator);
    if (!item) break;
    if (n >= start) items.push_back(std::move(item));
  }
  return list_iterator(std::move(items));
}

VarRef zip_longest(Translator& t, PyBorrow function, const CallArgs& args) {
  VarRef filler = none();
  for (const auto& [name, value] : args.named)
    if (name == "fillvalue") filler = value;
  expect_positional(function, {args.positional, {}}, 1, 64);
  std::vector<std::vector<VarRef>> columns;
  size_t longest = 0;
  for (const VarRef& part : args.positional) {
    columns.push_back(protocol::all_items(t, part));
    longest = std::max(longest, columns.back().size());
  }
  std::vector<VarRef> rows;
  for (size_t n = 0; n < longest; ++n) {
    std::vector<VarRef> row;
    for (const auto& column : columns) row.push_back(n < column.size() ? column[n] : filler);
    rows.push_back(std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(row)));
  }
  return list_iterator(std::move(rows));
}

VarRef accumulate(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 2);
  std::vector<VarRef> totals;
  for (const VarRef& item : protocol::all_items(t, args.positional[0])) {
    VarRef total = item;
    if (!totals.empty() && args.positional.size() == 2)
      total = protocol::call(t, args.positional[1], {{totals.back(), item}, {}});
    else if (!totals.empty())
      total = protocol::number(t, "add", totals.back(), item);
    totals.push_back(std::move(total));
  }
  return list_iterator(std::move(totals));
}

// combinations(iterable, r) and permutations(iterable, r): which places, CPython says.
VarRef choices(Translator& t, PyBorrow function, const CallArgs& args) {
  constexpr Py_ssize_t kMostItems = 10'000;
  expect_positional(function, args, 1, 2);
  const std::vector<VarRef> items = protocol::all_items(t, args.positional[0]);
  std::vector<PyRef> call_args;
  call_args.push_back(owned(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "n",
                                                  static_cast<Py_ssize_t>(items.size()))));
  if (args.positional.size() == 2)
    call_args.push_back(owned(PyLong_FromLong(number(function, args.positional[1]))));
  const PyRef places = owned(PyObject_CallObject(function.get(), tuple_of(call_args).get()));
  std::vector<VarRef> rows;
  while (const PyRef row = PyRef::steal(PyIter_Next(places.get()))) {
    if (static_cast<Py_ssize_t>(rows.size()) == kMostItems)
      break_graph(BreakReason::kLength, "itertools");
    std::vector<VarRef> chosen;
    for (const PyBorrow place : items_of(row))
      chosen.push_back(items[PyLong_AsSize_t(place.get())]);
    rows.push_back(std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(chosen)));
  }
  if (PyErr_Occurred()) throw PythonError();
  return list_iterator(std::move(rows));
}

// operator.add and its kin.
VarRef operation(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  const std::string name = text_of(attribute(t.gil(), function, "__name__"));
  return protocol::number(t, name.c_str(), args.positional[0], args.positional[1]);
}

VarRef get_item(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  return protocol::get_item(t, args.positional[0], args.positional[1]);
}

// Recorded, and so while capture lasts.
VarRef set_grad_enabled(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  record_change(t, function, args);
  t.set_grad_mode(protocol::truth(t, args.positional[0]));
  return none();
}

constexpr BuiltinRow kRows[] = {
    {"builtins", "filter", filter},
    {"functools", "partial", partial},
    {"functools", "reduce", reduce},
    {"itertools", "accumulate", accumulate},
    {"itertools", "chain", chain},
    {"itertools", "combinations", choices},
    {"itertools", "count", count},
    {"itertools", "islice", slice},
    {"itertools", "permutations", choices},
    {"itertools", "product", product},
    {"itertools", "repeat", repeat},
    {"itertools", "zip_longest", zip_longest},
    {"operator", "add", operation},
    {"operator", "and_", operation},
    {"operator", "eq", operation},
    {"operator", "floordiv", operation},
    {"operator", "ge", operation},
    {"operator", "getitem", get_item},
    {"operator", "gt", operation},
    {"operator", "iadd", operation},
    {"operator", "le", operation},
    {"operator", "lt", operation},
    {"operator", "matmul", operation},
    {"operator", "mod", operation},
    {"operator", "mul", operation},
    {"operator", "ne", operation},
    {"operator", "or_", operation},
    {"operator", "pow", operation},
    {"operator", "sub", operation},
    {"operator", "truediv", operation},
    {"torch._C", "_set_grad_enabled", set_grad_enabled},
};

}  // namespace

const std::span<const BuiltinRow> kLibraryBuiltins = kRows;

}  // namespace torchdyn
