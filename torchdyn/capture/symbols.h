// The symbols of one capture, in place of sizes and numbers that are left open: torch's ShapeEnv
// and fakes (torchdyn/python/symbols.py).
//   Symbols symbols(gil);
//   PyRef like = symbols.stand_in(gil, meta_tensor, {0}, "x");
//   PyRef result = symbols.call(gil, relu, args, kwargs);
//   if (auto guards = symbols.guards(gil, {&like, 1})) ...
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/symbolic/symbol_guards.h"
#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

using aten_bridge::SymbolGuards;

// Thrown where a frame is captured without symbols and a size or number of it is to be open, and
// where what was captured with some cannot be guarded. Caught where captures begin.
struct NeedsSymbols {};
struct NeedsFixedSizes {};

class Symbols {
 public:
  explicit Symbols(const Gil&);

  PyRef stand_in(const Gil&, PyBorrow like, const std::vector<int>& open, const std::string& name);
  PyRef number(const Gil&, int64_t value, const std::string& name);  // a torch.SymInt
  // function(*args, **kwargs) on these, which may make some.
  PyRef call(const Gil&, PyBorrow function, PyRef args, PyRef kwargs);
  // What must hold of the inputs that these stand for, for all that was asked of their sizes. None:
  // there is no text for it.
  std::optional<SymbolGuards> guards(const Gil&, std::span<const PyBorrow> inputs);

 private:
  PyRef symbols_;
};

// Whether it is one of torch's SymInt, SymFloat or SymBool.
bool is_symbolic(PyBorrow object);

}  // namespace torchdyn
