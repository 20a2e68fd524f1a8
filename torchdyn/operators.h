// What becomes of each ATen operator, derived from the tables of capture and lowering.
//   const auto rows = operator_table("^aten::add");
//   std::cout << print(rows) << summary(rows);
// From a shell: python -m torchdyn.operators '^aten::add', or bench_operators '^aten::add'.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torchdyn {

struct OperatorRow {
  std::string op;        // "aten::add.Tensor"
  std::string_view how;  // see below
  // lowered, and rewritten where other arguments are lowered: "pointwise", "reduction", ...;
  // refused: the reason
  std::string detail;
};

// Those whose names a regular expression finds, ordered by name. `how` is the first of these that
// holds:
//   refused     a call that contains it runs in eager, with the reason
//   rewritten   replaced above autograd, for some arguments or for all
//   decomposed  recorded as simpler operators by a row of ours
//   lowered     turned into loops and fused (for some arguments it may be an extern call)
//   extern      called as ATen has it; its shape is known
//   functional  changes an argument; functionalization replaces it by an operator that does not
//   composite   recorded as the operators that LibTorch itself expresses it by
//   eager       its shape is not known: a call that contains it runs in eager
std::vector<OperatorRow> operator_table(const std::string& pattern = "");

// A line an operator: "lowered aten::add.Tensor pointwise".
std::string print(std::span<const OperatorRow> rows);
// A line for each `how` that occurs: how many there are.
std::string summary(std::span<const OperatorRow> rows);

}  // namespace torchdyn
