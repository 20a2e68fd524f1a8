// The extension module torchdyn_layers: bytecode and hook for the interpreter that runs the tests.
#include "tests/torchdyn/cpython/functions.h"

namespace {

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "torchdyn_layers", nullptr, -1, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_torchdyn_layers() {
  using namespace torchdyn::testing;
  PyObject* module = PyModule_Create(&definition);
  for (PyMethodDef* functions :
       {kBytecodeFunctions, kDictFunctions, kHookFunctions, kOtherHookFunctions})
    if (module && PyModule_AddFunctions(module, functions) != 0) Py_CLEAR(module);
  return module;
}
