// Dicts that say when they change, where CPython tells of it (3.12 and newer).
//   class Reader : public DictWatcher {
//     void dict_changes(TdDictChange change, PyBorrow key, int tag) noexcept override;
//   };
//   if (!reader.watch(dict, 7)) ...    // it may change unseen
//
// Told before the change, within the call that changes: dict_changes() runs no Python and changes
// no dict. What is watched is not kept alive; that it goes is told as well.
#pragma once

#include <utility>
#include <vector>

#include "torchdyn/cpython/abi_c.h"
#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

class DictWatcher {
 public:
  DictWatcher() = default;
  DictWatcher(const DictWatcher&) = delete;
  virtual ~DictWatcher() { unwatch_all(); }

  // `key` is null where all of the dict changes, or it goes. `tag` is watch()'s.
  virtual void dict_changes(TdDictChange change, PyBorrow key, int tag) noexcept = 0;

 protected:
  // Until unwatch_all(), or until the dict goes. False: it is not watched.
  bool watch(PyBorrow dict, int tag);
  void unwatch_all() noexcept;

 private:
  friend struct WatchedDicts;
  std::vector<PyObject*> dicts_;  // some may be gone
};

}  // namespace torchdyn
