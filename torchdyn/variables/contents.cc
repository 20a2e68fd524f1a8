#include "torchdyn/variables/contents.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

// Methods of OrderedDict's that call others, which a class may have replaced.
constexpr std::string_view kCallOthers[] = {"__init__", "copy",       "pop",
                                            "popitem",  "setdefault", "update"};
constexpr std::string_view kCalled[] = {"__contains__", "__delitem__", "__getitem__",
                                        "__setitem__"};

bool is_method(PyBorrow found) {
  return Py_TYPE(found.get()) == &PyMethodDescr_Type ||
         Py_TYPE(found.get()) == &PyWrapperDescr_Type;
}

bool replaces_called(PyTypeObject* type) {
  return std::any_of(std::begin(kCalled), std::end(kCalled), [&](std::string_view name) {
    const PyBorrow found = type_attribute(type, torchdyn::name(name));
    return !found || !is_method(found);
  });
}

}  // namespace

void ContentsVariable::rebuild(CodeWriter&) const {
  break_graph(BreakReason::kRebuild, "what an object holds as a dict");
}

VarRef contents_of(Translator& t, const VarRef& self) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return made->contents();
  const PyBorrow object = self->object();
  if (!object || !dynamic_cast<const ObjectVariable*>(self.get()) || !PyDict_Check(object.get()) ||
      PyDict_CheckExact(object.get()))
    return nullptr;
  return wrap_contents(t, object, Source::contents(self->source()));
}

VarRef keyed_item(Translator& t, const VarRef& dict, const VarRef& key) {
  const PyRef known = protocol::as_constant(key);
  if (!known || !is_plain_constant(known))
    break_graph(BreakReason::kValue, str_cat("a key that is a ", key->type_name()));
  const SourceRef source = Source::keyed(dict->source(), known);
  if (const PyBorrow value = source->read(t.frame())) return wrap(t, value, source);
  t.guard_type(*dict);
  t.guards().add(source, Absent{});
  return nullptr;
}

namespace {

// dict.get of such a dict, before it is called.
class KeyedGetVariable : public Variable {
 public:
  explicit KeyedGetVariable(VarRef dict) : dict_(std::move(dict)) {}

  const Slots& slots() const override {
    static constexpr Slots kSlots{.call = call};
    return kSlots;
  }
  std::string type_name() const override { return "dict.get"; }

 private:
  static VarRef call(Translator& t, const VarRef& self, const CallArgs& args) {
    const VarRef& dict = static_cast<const KeyedGetVariable&>(*self).dict_;
    if (args.positional.empty() || args.positional.size() > 2 || !args.named.empty())
      break_graph(BreakReason::kCall, "dict.get with these arguments");
    if (VarRef value = keyed_item(t, dict, args.positional[0])) return value;
    if (args.positional.size() == 2) return args.positional[1];
    return none();
  }

  VarRef dict_;
};

}  // namespace

VarRef method_of_contents(Translator& t, const VarRef& self, PyBorrow found) {
  if (!found || !is_method(found)) return nullptr;
  if (self->object() && PyDict_CheckExact(self->object().get()))
    return utf8(PyBorrow(PyDescr_NAME(found.get()))) == "get"
               ? std::make_shared<KeyedGetVariable>(self)
               : nullptr;
  PyTypeObject* const of = PyDescr_TYPE(found.get());
  if (PyType_IsSubtype(of, &PyDict_Type) == 0) return nullptr;
  VarRef held = contents_of(t, self);
  if (!held) return nullptr;
  const std::string name(utf8(PyBorrow(PyDescr_NAME(found.get()))));
  const bool calls_others =
      of == &PyODict_Type &&
      std::find(std::begin(kCallOthers), std::end(kCallOthers), name) != std::end(kCallOthers);
  if (calls_others && (name == "copy" || replaces_called(type_of_object(*self))))
    break_graph(BreakReason::kAttribute, str_cat(self->type_name(), ".", name));
  return std::make_shared<ContainerMethodVariable>(std::move(held), name);
}

DictVariable::Entries entries_of(Translator& t, const VarRef& mapping) {
  if (const auto* const dict = dynamic_cast<const DictVariable*>(mapping.get()))
    return dict->entries();
  if (!is_object(mapping))
    break_graph(BreakReason::kValue, "the items of a " + mapping->type_name());
  if (type_of_object(*mapping)->tp_iter == PyDict_Type.tp_iter)
    if (const VarRef held = contents_of(t, mapping))
      return static_cast<const DictVariable&>(*held).entries();
  const VarRef keys = find_attribute(t, mapping, "keys");
  if (!keys) break_graph(BreakReason::kValue, "the items of a " + mapping->type_name());
  DictVariable::Entries entries;
  for (const VarRef& key : protocol::all_items(t, protocol::call(t, keys, {})))
    entries.emplace_back(key, protocol::get_item(t, mapping, key));
  return entries;
}

}  // namespace torchdyn
