// What CPython 3.12 and newer tell of watched dicts, in the words of abi_c.h: a part of abi_3_NN.c.
#pragma once

#include "torchdyn/cpython/abi_c.h"

static TdDictCallback dict_callback;

static int tell_of_dict(PyDict_WatchEvent event, PyObject* dict, PyObject* key, PyObject* value) {
  (void)value;
  switch (event) {
    case PyDict_EVENT_MODIFIED:
      dict_callback(TD_VALUE_CHANGES, dict, key);
      return 0;
    case PyDict_EVENT_ADDED:
    case PyDict_EVENT_DELETED:
      dict_callback(TD_KEY_CHANGES, dict, key);
      return 0;
    case PyDict_EVENT_CLONED:
    case PyDict_EVENT_CLEARED:
      dict_callback(TD_DICT_CHANGES, dict, NULL);
      return 0;
    case PyDict_EVENT_DEALLOCATED:
      dict_callback(TD_DICT_GOES, dict, NULL);
      return 0;
  }
  return 0;
}

int td_dict_add_watcher(TdDictCallback callback) {
  dict_callback = callback;
  int watcher = PyDict_AddWatcher(tell_of_dict);
  if (watcher < 0) PyErr_Clear();
  return watcher;
}
