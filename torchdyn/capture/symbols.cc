#include "torchdyn/capture/symbols.h"

#include <string_view>

#include "torchdyn/cpython/objects.h"

namespace torchdyn {
namespace {

using aten_bridge::SymExpr;

std::vector<SymExpr> expressions(PyBorrow texts) {
  std::vector<SymExpr> all;
  for (const PyBorrow text : items_of(texts)) {
    std::string_view rest = utf8(text);
    auto parsed = aten_bridge::parse_sym_expr(&rest);
    if (!parsed || !rest.empty()) throw NeedsFixedSizes();
    all.push_back(*std::move(parsed));
  }
  return all;
}

SymbolGuards::Relation relation(PyBorrow row) {
  const std::vector<PyBorrow> parts = items_of(row);
  std::vector<PyRef> sides;
  sides.push_back(PyRef::to(parts[0]));
  sides.push_back(PyRef::to(parts[2]));
  const std::vector<SymExpr> exprs = expressions(tuple_of(sides));
  return {exprs[0], aten_bridge::relation_operator(utf8(parts[1])).value(), exprs[1]};
}

}  // namespace

Symbols::Symbols(const Gil& gil)
    : symbols_(torchdyn::call(gil, import_attribute(gil, "torchdyn.symbols", "Symbols"),
                              tuple_of({}))) {}

PyRef Symbols::stand_in(const Gil& gil, PyBorrow like, const std::vector<int>& open,
                        const std::string& name) {
  const PyRef dimensions = owned(PySet_New(nullptr));
  for (const int d : open)
    if (PySet_Add(dimensions.get(), owned(PyLong_FromLong(d)).get()) != 0) throw PythonError();
  return call_method(gil, symbols_, "stand_in", {like, dimensions, torchdyn::name(name)});
}

PyRef Symbols::number(const Gil& gil, int64_t value, const std::string& name) {
  return call_method(gil, symbols_, "number",
                     {owned(PyLong_FromLongLong(value)), torchdyn::name(name)});
}

PyRef Symbols::call(const Gil& gil, PyBorrow function, PyRef args, PyRef kwargs) {
  if (!kwargs) kwargs = owned(PyDict_New());
  return call_method(gil, symbols_, "call", {function, args, kwargs});
}

std::optional<SymbolGuards> Symbols::guards(const Gil& gil, std::span<const PyBorrow> inputs) {
  const PyRef list = owned(PySequence_List(tuple_of_borrowed(inputs).get()));
  const PyRef found = call_method(gil, symbols_, "guards", {list});
  if (found.get() == Py_None) return std::nullopt;
  const std::vector<PyBorrow> parts = items_of(found);
  SymbolGuards guards;
  for (const PyBorrow row : items_of(parts[0])) {
    guards.inputs.emplace_back();
    if (row.get() == Py_None) continue;
    const std::vector<PyBorrow> both = items_of(row);
    guards.inputs.back() = {expressions(both[0]), expressions(both[1])};
  }
  for (const PyBorrow row : items_of(parts[1])) {
    auto& condition = guards.conditions.emplace_back();
    for (const PyBorrow one : items_of(row)) condition.push_back(relation(one));
  }
  if (!guards.find_symbols()) return std::nullopt;
  return guards;
}

bool is_symbolic(PyBorrow object) {
  const std::string_view type = object ? Py_TYPE(object.get())->tp_name : "";
  return type == "SymInt" || type == "SymFloat" || type == "SymBool";
}

}  // namespace torchdyn
