// What becomes of each ATen operator? bench_operators [PATTERN] prints a line for each whose name
// the regular expression finds, and how many there are of each kind.
#include "torchdyn/operators.h"

#include <iostream>

int main(int argc, char** argv) {
  const auto rows = torchdyn::operator_table(argc > 1 ? argv[1] : "");
  std::cout << torchdyn::print(rows) << "\n" << torchdyn::summary(rows);
}
