// An object's __dict__, to be read name by name.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

// Null: there is none.
VarRef member_named(Translator& t, const VarRef& members, const VarRef& key) {
  if (!key->object() || !PyUnicode_CheckExact(key->object().get()))
    break_graph(BreakReason::kValue, "a key of a __dict__ that is a " + key->type_name());
  return own_attribute_of(t, static_cast<const MembersVariable&>(*members).self(),
                          std::string(utf8(key->object())));
}

bool has_member(Translator& t, const VarRef& members, const VarRef& key) {
  return member_named(t, members, key) != nullptr;
}

VarRef get_member(Translator& t, const VarRef& members, const VarRef& key) {
  if (VarRef value = member_named(t, members, key)) return value;
  raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{key});
}

class MembersGetVariable : public Variable {
 public:
  explicit MembersGetVariable(VarRef members) : members_(std::move(members)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "__dict__.get"; }
  const VarRef& members() const { return members_; }

 private:
  VarRef members_;
};

VarRef call_get(Translator& t, const VarRef& get, const CallArgs& args) {
  if (args.positional.empty() || args.positional.size() > 2 || !args.named.empty())
    break_graph(BreakReason::kCall, "__dict__.get with these arguments");
  const VarRef& members = static_cast<const MembersGetVariable&>(*get).members();
  if (VarRef value = member_named(t, members, args.positional[0])) return value;
  if (args.positional.size() == 2) return args.positional[1];
  return none();
}

const Slots& MembersGetVariable::slots() const {
  static constexpr Slots kSlots{.call = call_get};
  return kSlots;
}

VarRef get_attribute(Translator&, const VarRef& members, const std::string& name) {
  if (name != "get") break_graph(BreakReason::kAttribute, aten_bridge::str_cat("__dict__.", name));
  return std::make_shared<MembersGetVariable>(members);
}

}  // namespace

const Slots& MembersVariable::slots() const {
  static constexpr Slots kSlots{
      .getattro = get_attribute, .subscript = get_member, .contains = has_member};
  return kSlots;
}

void MembersVariable::rebuild(CodeWriter& w) const {
  w.value(self_);
  w.attribute(torchdyn::name("__dict__"));
}

}  // namespace torchdyn
