// A code object's bytecode as CPython keeps it: co_code, co_exceptiontable, co_linetable.
#pragma once

#include <string>

#include "torchdyn/bytecode/version.h"

namespace torchdyn {

struct CodeBytes {
  PythonVersion version;
  std::string code;  // without specialised or instrumented forms, as co_code shows it
  std::string exception_table;
  std::string line_table;
  int first_line = 0;

  friend bool operator==(const CodeBytes&, const CodeBytes&) = default;
};

}  // namespace torchdyn
