// A watcher that writes down what it is told of dicts.
#include <string>
#include <vector>

#include "tests/torchdyn/cpython/functions.h"
#include "torchdyn/cpython/dict_watch.h"

namespace torchdyn::testing {
namespace {

class Told : public DictWatcher {
 public:
  using DictWatcher::unwatch_all;
  using DictWatcher::watch;

  void dict_changes(TdDictChange change, PyBorrow key, int tag) noexcept override {
    Py_ssize_t size = 0;
    const char* const text =
        key && PyUnicode_Check(key.get()) ? PyUnicode_AsUTF8AndSize(key.get(), &size) : nullptr;
    changes.push_back({change, text ? text : "", tag});
  }

  struct Change {
    TdDictChange change;
    std::string key;
    int tag;
  };
  std::vector<Change> changes;
};

Told& told() {
  static auto* const watcher = new Told;  // dicts change until the process ends
  return *watcher;
}

// watch(dict, tag): whether changes of it are told.
PyRef watch(const Gil&, PyObject* args) {
  PyObject* dict = nullptr;
  int tag = 0;
  read_arguments(args, "O!i", &PyDict_Type, &dict, &tag);
  return owned(PyBool_FromLong(told().watch(PyBorrow(dict), tag)));
}

PyRef unwatch_all(const Gil&, PyObject*) {
  told().unwatch_all();
  return none();
}

// [(what changes, key or "", tag)] since the last call.
PyRef told_of_dicts(const Gil&, PyObject*) {
  constexpr const char* kChanges[] = {"value", "key", "all", "gone"};
  PyRef list = owned(PyList_New(0));
  for (const auto& [change, key, tag] : std::exchange(told().changes, {}))
    PyList_Append(list.get(),
                  owned(Py_BuildValue("ssi", kChanges[change], key.c_str(), tag)).get());
  return list;
}

// keeps_dict(object, dict): whether the object has its dict where td_dict_place says; None: nobody
// can say.
PyRef keeps_dict(const Gil&, PyObject* args) {
  PyObject *object = nullptr, *dict = nullptr;
  read_arguments(args, "OO", &object, &dict);
  PyObject** const place = td_dict_place(object);
  return place ? owned(PyBool_FromLong(*place == dict)) : none();
}

}  // namespace

PyMethodDef kDictFunctions[] = {{"watch", entry<watch>, METH_VARARGS, nullptr},
                                {"unwatch_all", entry<unwatch_all>, METH_VARARGS, nullptr},
                                {"told_of_dicts", entry<told_of_dicts>, METH_VARARGS, nullptr},
                                {"keeps_dict", entry<keeps_dict>, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace torchdyn::testing
