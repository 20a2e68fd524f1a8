// The loop IR's text: print, parse, verify. The form is shown in loop.h; "loops 1" is its version.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/ir/loop.h"

namespace inductor {

std::string print(const LoopProgram& program);
std::string print(Expr e, const LoopProgram& program);
absl::StatusOr<LoopProgram> parse_loops(std::string_view text);
// The law of loop.h and expr.h: dtypes, table domains, indices inside their buffers (by bounds),
// one writer, reduction loops.
absl::Status verify(const LoopProgram& program);

}  // namespace inductor
