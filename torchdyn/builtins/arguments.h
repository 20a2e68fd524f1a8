// What handlers say of arguments that they do not take.
#pragma once

#include <string_view>

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

[[noreturn]] void unknown_arguments(PyBorrow function, std::string_view why);
void expect_positional(PyBorrow function, const CallArgs& args, size_t least, size_t most);

}  // namespace torchdyn
