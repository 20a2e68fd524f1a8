// The values of one straight-line body, spelled at one width: expressions become text, shared ones
// get names.
//   Values values(names, cpp_dialect(), writer, {.width = 8, .lane = i1});
//   values.plan(roots);                     // counts uses
//   values.value(roots[0]);                 // "td_exp(td_load<f32x8>(in0 + 8*i0 + i1))"
#pragma once

#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "inductor/emit/dialect.h"
#include "inductor/emit/writer.h"
#include "inductor/ir/loop.h"
#include "inductor/ir/rewrite.h"

namespace inductor {

// Names of what a kernel mentions.
struct Names {
  HashMap<int, std::string> buffers;
  HashSet<int> variables;  // buffers that are one value at a time: no index
  // Rows that a group of threads keeps in registers: where the current element is.
  HashMap<int, SymExpr> places;
  SymbolMap symbols;  // the program's sizes and the loop variables in scope, as named in the text
  int next_symbol_value = 0, next_hoisted = 0, next_accumulator = 0;

  std::string index(const SymExpr& e) const { return e.substitute(symbols).str(); }
};

struct ValueNaming {  // of shared values: x0, x1, ...
  char prefix = 'x';
  int* next = nullptr;  // null: from 0
};

class Values {
 public:
  struct Lanes {
    int width = 1;
    Symbol variable{'i', -1};  // the vector loop's, named as in the program
  };
  using Named = HashMap<const ExprNode*, std::string>;

  // `outer`: scalars named before the body.
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  Values(const LoopProgram& program, Names& names, const Dialect& dialect, Writer& writer,
         Lanes lanes, const Named& outer, ValueNaming naming = {});

  // What value() will be asked for.
  void plan(std::span<const Expr> roots);
  // The text of a value; writes the lines of what it shares with others first.
  std::string value(Expr e);
  // The same, as a name.
  std::string name(Expr e);

  // "in0 + 8*i0": the element's address.
  std::string pointer(int buffer, const SymExpr& index, std::span<const Expr> symbol_values);
  std::string load(int buffer, const SymExpr& index, std::span<const Expr> symbol_values);
  void store(int buffer, const SymExpr& index, std::span<const Expr> symbol_values,
             std::string_view value);

 private:
  struct Address {
    std::string index, lane_index;        // of lane 0; of lane l0
    std::vector<std::string> lane_lines;  // what lane l0 computes first
    std::optional<int64_t> stride;        // between lanes; none: any
  };
  Address address(const SymExpr& index, std::span<const Expr> symbol_values);
  std::string per_lane(const Address& address, std::string_view what) const;
  SymExpr symbol_for(Expr e);
  std::string spell(Expr e);
  std::string rounded(Expr e, DType half);  // a float32 as one that `half` has
  std::string give_name(Expr e, const std::string& text);
  bool varies(Expr e) const;
  bool is_wide() const { return lanes_.width > 1; }

  const LoopProgram& program_;
  Names& names_;
  const Dialect& dialect_;
  Writer& writer_;
  Lanes lanes_;
  const Named& outer_;
  Named named_;
  HashMap<const ExprNode*, int> uses_;
  HashMap<const ExprNode*, Symbol> symbol_of_;  // names of another form, renamed
  ValueNaming naming_;
  int next_name_ = 0;
};

}  // namespace inductor
