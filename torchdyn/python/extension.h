// Definitions of operators as Python functions.
//   add_decomposition("mylib::swish", function);   // function(*args, **kwargs) calls torch
//   operators
#pragma once

#include <string>

#include <pybind11/pybind11.h>

namespace torchdyn {

// Arguments and results go as torch.ops passes them. What the function raises makes the call that
// is captured run in eager, with that reason. torchdyn/extend.h says what else.
void add_python_decomposition(const std::string& op, pybind11::function function);

}  // namespace torchdyn
