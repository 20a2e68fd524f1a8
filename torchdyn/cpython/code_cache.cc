#include "torchdyn/cpython/code_cache.h"

namespace torchdyn {
namespace {

void destroy(void* record) { delete static_cast<CodeRecord*>(record); }

// CPython has 255 slots for all libraries of the process; we ask for one, when it is first needed.
Py_ssize_t slot() {
  static const Py_ssize_t requested = td_code_request_slot(destroy);
  TD_CHECK(requested >= 0, "no slot for data of code objects is left");
  return requested;
}

}  // namespace

CodeRecord* code_record(const Gil&, CodeView code) {
  return static_cast<CodeRecord*>(td_code_slot(code.get(), slot()));
}

void set_code_record(const Gil&, CodeView code, std::unique_ptr<CodeRecord> record) {
  if (td_code_set_slot(code.get(), slot(), record.get()) != 0) throw PythonError();
  (void)record.release();
}

}  // namespace torchdyn
