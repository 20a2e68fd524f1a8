#include "torchdyn/guards/source.h"

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {

using aten_bridge::str_cat;

Source::Source(Kind kind, SourceRef base, int slot, std::string_view name)
    : kind_(kind), slot_(slot), base_(std::move(base)), name_(torchdyn::name(name)) {}

SourceRef Source::local(int slot, std::string_view name) {
  return std::make_shared<const Source>(Kind::kLocal, nullptr, slot, name);
}

SourceRef Source::closure(int slot, std::string_view name) {
  return std::make_shared<const Source>(Kind::kClosure, nullptr, slot, name);
}

SourceRef Source::global(std::string_view name) {
  return std::make_shared<const Source>(Kind::kGlobal, nullptr, -1, name);
}

SourceRef Source::builtin(std::string_view name) {
  return std::make_shared<const Source>(Kind::kBuiltin, nullptr, -1, name);
}

SourceRef Source::member(SourceRef base, std::string_view name) {
  return std::make_shared<const Source>(Kind::kMember, std::move(base), -1, name);
}

SourceRef Source::dict(SourceRef base) {
  return std::make_shared<const Source>(Kind::kDict, std::move(base), -1, "__dict__");
}

SourceRef Source::item(SourceRef base, std::string_view name) {
  return std::make_shared<const Source>(Kind::kItem, std::move(base), -1, name);
}

SourceRef Source::keyed(SourceRef base, PyBorrow key) {
  auto made = std::make_shared<Source>(Kind::kKeyed, std::move(base), -1, "");
  made->object_ = PyRef::to(key);
  return made;
}

SourceRef Source::contents(SourceRef base) {
  return std::make_shared<const Source>(Kind::kContents, std::move(base), -1, "");
}

SourceRef Source::element(SourceRef base, int index) {
  return std::make_shared<const Source>(Kind::kElement, std::move(base), index, "");
}

SourceRef Source::type_member(SourceRef base, std::string_view name) {
  return std::make_shared<const Source>(Kind::kTypeMember, std::move(base), -1, name);
}

SourceRef Source::class_member(SourceRef base, std::string_view name) {
  return std::make_shared<const Source>(Kind::kClassMember, std::move(base), -1, name);
}

SourceRef Source::base_member(SourceRef base, int index, std::string_view name) {
  return std::make_shared<const Source>(Kind::kBaseMember, std::move(base), index, name);
}

SourceRef Source::slot_member(SourceRef base, std::string_view name) {
  return std::make_shared<const Source>(Kind::kSlotMember, std::move(base), -1, name);
}

SourceRef Source::type_of(SourceRef base) {
  return std::make_shared<const Source>(Kind::kTypeOf, std::move(base), -1, "__class__");
}

SourceRef Source::unwrapped(SourceRef base) {
  return std::make_shared<const Source>(Kind::kUnwrapped, std::move(base), -1, "__func__");
}

SourceRef Source::class_order(SourceRef base) {
  return std::make_shared<const Source>(Kind::kClassOrder, std::move(base), -1, "__mro__");
}

SourceRef Source::setter(SourceRef base) {
  return std::make_shared<const Source>(Kind::kSetter, std::move(base), -1, "fset");
}

SourceRef Source::module(std::string_view name) {
  return std::make_shared<const Source>(Kind::kModule, nullptr, -1, name);
}

SourceRef Source::fixed(PyBorrow object, std::string_view name) {
  auto made = std::make_shared<Source>(Kind::kFixed, nullptr, -1, name);
  made->object_ = PyRef::to(object);
  return made;
}

SourceRef Source::context_value(SourceRef base) {
  return std::make_shared<const Source>(Kind::kContextValue, std::move(base), -1, "get()");
}

SourceRef Source::part(SourceRef base, FunctionPart part) {
  return std::make_shared<const Source>(Kind::kPart, std::move(base), static_cast<int>(part),
                                        name_of(part));
}

SourceRef Source::cell(SourceRef base) {
  return std::make_shared<const Source>(Kind::kCell, std::move(base), -1, "cell_contents");
}

SourceRef Source::referent(SourceRef base) {
  return std::make_shared<const Source>(Kind::kReferent, std::move(base), -1, "()");
}

bool operator==(const Source& a, const Source& b) {
  if (a.kind_ != b.kind_ || a.slot_ != b.slot_ || PyBorrow(a.name_) != PyBorrow(b.name_) ||
      (PyBorrow(a.object_) != PyBorrow(b.object_) &&
       !(a.kind_ == Source::Kind::kKeyed && equal_constants(a.object_, b.object_))))
    return false;  // names are interned
  return a.base_ == b.base_ || (a.base_ && b.base_ && *a.base_ == *b.base_);
}

PyBorrow Source::read(const FrameView& frame) const noexcept {
  return read_from(base_ ? base_->read(frame) : PyBorrow(), frame);
}

PyBorrow Source::read_from(PyBorrow base, const FrameView& frame) const noexcept {
  auto* const type =
      base && PyType_Check(base.get()) ? reinterpret_cast<PyTypeObject*>(base.get()) : nullptr;
  switch (kind_) {
    case Kind::kLocal:
      return frame.local(slot_);
    case Kind::kClosure:
      return cell_content(frame.local(slot_));
    case Kind::kGlobal:
      return dict_item(frame.globals(), name_);
    case Kind::kBuiltin:
      return dict_item(frame.builtins(), name_);
    case Kind::kDict:
      return dict_of(base);
    case Kind::kMember:
      return torchdyn::member(base, name_);
    case Kind::kItem:
      return base_->kind_ == Kind::kContents ? contents_item(base, name_) : dict_item(base, name_);
    case Kind::kKeyed:
      return base && PyDict_CheckExact(base.get()) ? contents_item(base, object_) : PyBorrow();
    case Kind::kContents:
      return base && PyDict_Check(base.get()) ? base : PyBorrow();
    case Kind::kElement:
      return torchdyn::element(base, slot_);
    case Kind::kTypeMember:
      return base ? type_attribute(Py_TYPE(base.get()), name_) : PyBorrow();
    case Kind::kClassMember:
      return type ? type_attribute(type, name_) : PyBorrow();
    case Kind::kBaseMember:
      return type ? own_attribute(torchdyn::element(PyBorrow(type->tp_mro), slot_), name_)
                  : PyBorrow();
    case Kind::kSlotMember:
      return base ? slot_value(base, type_attribute(Py_TYPE(base.get()), name_)) : PyBorrow();
    case Kind::kTypeOf:
      return base ? PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(base.get()))) : PyBorrow();
    case Kind::kUnwrapped:
      return unwrapped_function(base);
    case Kind::kClassOrder:
      return type ? PyBorrow(type->tp_mro) : PyBorrow();
    case Kind::kSetter:
      return property_setter(base);
    case Kind::kModule:
      return dict_item(PyBorrow(PyImport_GetModuleDict()), name_);
    case Kind::kFixed:
      return object_;
    case Kind::kContextValue:
      return torchdyn::context_value(base);
    case Kind::kPart:
      return part_of(base, static_cast<FunctionPart>(slot_));
    case Kind::kCell:
      return cell_content(base);
    case Kind::kReferent:
      return torchdyn::referent(base);
  }
  return PyBorrow();
}

std::string Source::text() const {
  const std::string_view name = utf8(name_);
  if (kind_ == Kind::kKeyed) return str_cat(base_->text(), "[", text_of(object_), "]");
  if (kind_ == Kind::kContents) return base_->text();
  if (kind_ == Kind::kReferent) return str_cat(base_->text(), name);
  if (kind_ == Kind::kElement) return str_cat(base_->text(), "[", slot_, "]");
  if (kind_ == Kind::kTypeMember) return str_cat("type(", base_->text(), ").", name);
  if (kind_ == Kind::kTypeOf) return str_cat("type(", base_->text(), ")");
  if (kind_ == Kind::kBaseMember) return str_cat("super(", base_->text(), ").", name);
  if (kind_ == Kind::kClassMember || kind_ == Kind::kSlotMember || kind_ == Kind::kUnwrapped ||
      kind_ == Kind::kSetter || kind_ == Kind::kClassOrder || kind_ == Kind::kDict)
    return str_cat(base_->text(), ".", name);
  if (kind_ == Kind::kMember || kind_ == Kind::kPart || kind_ == Kind::kCell ||
      kind_ == Kind::kContextValue)
    return str_cat(base_->text(), ".", name);
  if (kind_ == Kind::kItem) return str_cat(base_->text(), "['", name, "']");
  return std::string(name);
}

}  // namespace torchdyn
