// Bytecode as text, and back.
//   bytecode 3.12 first_line 7
//   handler H0 -> L1 depth 0
//       RESUME 0                      @7:0-7:0
//       LOAD_FAST 0                   @8:8-8:9 !H0   # x
//       RETURN_VALUE                  @8:1-8:9
//   L1: PUSH_EXC_INFO
//
// A position is @line:column-line:column, with ? for what is not known, @line where no columns are,
// or absent; !H0 names the instruction's handler, +1 is least_prefixes; what follows # is for
// people.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

// What to say of an instruction beside its number: the name or constant that it stands for.
using Annotate = std::function<std::string(const Instruction&)>;

std::string print_bytecode(const Bytecode& code, const Annotate& annotate = nullptr);
absl::StatusOr<Bytecode> parse_bytecode(std::string_view text);

}  // namespace torchdyn
