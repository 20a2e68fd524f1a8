// What this library knows of a code object, kept with it and freed with it.
//   struct Variants : CodeRecord { ... };
//   if (auto* known = static_cast<Variants*>(code_record(gil, code))) ...
//   set_code_record(gil, code, std::make_unique<Variants>());
//
// A record does not own the code object that it belongs to, directly or through others (globals
// that hold the function, say): neither would ever be freed, since CPython's collector does not see
// records. It is destroyed with the GIL held, by whoever frees the code object, and runs no Python
// that could need it.
#pragma once

#include <memory>

#include "torchdyn/cpython/abi.h"

namespace torchdyn {

class CodeRecord {
 public:
  virtual ~CodeRecord() = default;
};

CodeRecord* code_record(const Gil&, CodeView code);  // null: nothing is known
// Destroys the record before; null leaves none.
void set_code_record(const Gil&, CodeView code, std::unique_ptr<CodeRecord> record);

}  // namespace torchdyn
