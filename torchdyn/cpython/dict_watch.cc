#include "torchdyn/cpython/dict_watch.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/base/hash_map.h"

namespace torchdyn {

// Who watches each dict: guarded by the GIL.
struct WatchedDicts {
  struct Watch {
    DictWatcher* watcher;
    int tag;
  };
  using Watches = absl::InlinedVector<Watch, 1>;

  static WatchedDicts& all() {
    static auto* const watched = new WatchedDicts;  // dicts change until the process ends
    return *watched;
  }

  static void changes(TdDictChange change, PyObject* dict, PyObject* key) {
    auto& dicts = all().dicts;
    const auto found = dicts.find(dict);
    if (found == dicts.end()) return;
    for (const Watch& watch : found->second)
      watch.watcher->dict_changes(change, PyBorrow(key), watch.tag);
    if (change == TD_DICT_GOES) dicts.erase(found);
  }

  const int watcher = td_dict_add_watcher(changes);
  aten_bridge::HashMap<PyObject*, Watches> dicts;
};

bool DictWatcher::watch(PyBorrow dict, int tag) {
  WatchedDicts& all = WatchedDicts::all();
  const auto [found, is_new] = all.dicts.try_emplace(dict.get());
  if (is_new && td_dict_watch(all.watcher, dict.get()) != 0) {
    all.dicts.erase(found);
    return false;
  }
  found->second.push_back({this, tag});
  dicts_.push_back(dict.get());
  return true;
}

void DictWatcher::unwatch_all() noexcept {
  WatchedDicts& all = WatchedDicts::all();
  for (PyObject* const dict : dicts_) {
    const auto found = all.dicts.find(dict);
    if (found == all.dicts.end()) continue;
    auto& watches = found->second;
    const auto is_mine = [&](const auto& watch) { return watch.watcher == this; };
    watches.erase(std::remove_if(watches.begin(), watches.end(), is_mine), watches.end());
    if (!watches.empty()) continue;
    td_dict_unwatch(all.watcher, dict);
    all.dicts.erase(found);
  }
  dicts_.clear();
}

}  // namespace torchdyn
