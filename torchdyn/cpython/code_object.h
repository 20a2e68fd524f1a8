// Code objects taken apart, and made from parts.
//   CodeParts parts = take_apart(gil, code);
//   parts.bytes = changed; parts.stack_size = depth;
//   PyRef other = make_code(gil, parts);
#pragma once

#include "torchdyn/bytecode/code_bytes.h"
#include "torchdyn/cpython/abi.h"

namespace torchdyn {

struct CodeParts {
  CodeBytes bytes;
  int stack_size;
  int arguments, positional_only, keyword_only;  // co_argcount counts the positional-only ones too
  int flags;
  PyRef constants, names;     // tuples
  PyRef locals, cells, free;  // tuples of names; a local that is in a cell is in both
  PyRef file_name, name, qualified_name;
};

CodeBytes bytes_of(const Gil&, CodeView code);
CodeParts take_apart(const Gil&, CodeView code);

// Raises what CPython does where the parts do not fit together; it does not look into the bytes.
// In a module's or class body's code of 3.12 and later, variables of inlined comprehensions become
// visible locals, as types.CodeType.replace makes them.
PyRef make_code(const Gil&, const CodeParts& parts);

}  // namespace torchdyn
