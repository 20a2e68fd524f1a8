// What objects hold as dicts, whose class extends dict or OrderedDict, beside their attributes.
//   if (VarRef held = contents_of(t, output)) ...      // a DictVariable; null: it is no such
//   object
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

class ContentsVariable : public DictVariable {
 public:
  using DictVariable::DictVariable;
  void rebuild(CodeWriter& w) const override;  // breaks: it is part of an object
};

VarRef contents_of(Translator& t, const VarRef& self);
// Of a dict that is an object from outside, since it is large or has keys of many kinds. Null: it
// has no such key.
VarRef keyed_item(Translator& t, const VarRef& dict, const VarRef& key);
// What `found` in its class is, where that is a method of dict or OrderedDict; null: it is none.
VarRef method_of_contents(Translator& t, const VarRef& self, PyBorrow found);
// What `mapping` has where its items go to another dict. CPython: Objects/dictobject.c, dict_merge.
DictVariable::Entries entries_of(Translator& t, const VarRef& mapping);

}  // namespace torchdyn
