// NumPy's numbers and what only computes with them.
//   if (gives_numbers(function)) return call_on_numbers(t, function, args);    // np.sqrt(2),
//   np.float32(x)
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// Whether an object is a function or a type of NumPy's that makes numbers of numbers.
bool gives_numbers(PyBorrow object);
// Of constants; breaks where what comes out is no number: an array.
VarRef call_on_numbers(Translator& t, const VarRef& function, const CallArgs& args);
// A constant as torch takes it: NumPy's numbers are Python's.
PyRef plain_number(PyBorrow constant);

}  // namespace torchdyn
