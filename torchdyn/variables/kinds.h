// The kinds of values.
//   VarRef one = constant(PyRef);              // None, numbers, strings, dtypes, sizes
//   VarRef x = tensor(node, stand_in, source);
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

class ConstantVariable : public Variable {
 public:
  explicit ConstantVariable(PyRef value, SourceRef source = nullptr)
      : Variable(std::move(source)), value_(std::move(value)) {}

  const Slots& slots() const override;
  std::string type_name() const override;
  PyRef as_node(const Gil&) const override;
  PyRef as_stand_in(const Gil& gil) const override { return as_node(gil); }
  PyBorrow object() const override { return value_; }

 private:
  PyRef value_;
};

VarRef none();
VarRef boolean(bool value);

class TensorVariable : public Variable {
 public:
  TensorVariable(PyRef node, PyRef stand_in, PyRef device, PyTypeObject* type,
                 SourceRef source = nullptr)
      : Variable(std::move(source)),
        node_(std::move(node)),
        stand_in_(std::move(stand_in)),
        device_(std::move(device)),
        type_(type) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "Tensor"; }
  PyRef as_node(const Gil&) const override;  // breaks where it has been hidden
  PyRef as_stand_in(const Gil&) const override { return PyRef::to(stand_in_); }
  PyBorrow node() const { return node_; }
  // Its node went into a graph within the graph: it is another's result now, or nobody's.
  void give(PyRef node) const { node_ = std::move(node); }
  void hide() const { node_ = PyRef(); }
  PyBorrow like() const { return stand_in_; }
  PyBorrow device() const { return device_; }   // stand-ins have none
  PyTypeObject* type() const { return type_; }  // torch.Tensor or torch.nn.Parameter

 private:
  mutable PyRef node_;
  PyRef stand_in_, device_;
  PyTypeObject* type_;
};

// x.relu, before it is called.
class TensorMethodVariable : public Variable {
 public:
  TensorMethodVariable(VarRef self, std::string name)
      : self_(std::move(self)), name_(std::move(name)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method of a Tensor"; }
  std::vector<VarRef> parts() const override { return {self_}; }
  void rebuild(CodeWriter& w) const override;
  const VarRef& self() const { return self_; }
  const std::string& name() const { return name_; }

 private:
  VarRef self_;
  std::string name_;
};

// A tuple or list.
class SequenceVariable : public Variable {
 public:
  SequenceVariable(bool is_list, std::vector<VarRef> items, SourceRef source = nullptr,
                   PyRef found = PyRef())
      : Variable(std::move(source)),
        is_list_(is_list),
        items_(std::move(items)),
        found_(std::move(found)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return is_list_ ? "list" : "tuple"; }
  PyRef as_node(const Gil&) const override;
  PyRef as_stand_in(const Gil&) const override;
  const std::vector<VarRef>* items() const override { return &items_; }
  std::vector<VarRef> parts() const override { return items_; }
  void rebuild(CodeWriter& w) const override;
  bool is_list() const { return is_list_; }
  std::vector<VarRef>& contents() const { return items_; }
  PyBorrow found() const { return found_; }  // null: the frame made it

 private:
  bool is_list_;
  mutable std::vector<VarRef> items_;
  PyRef found_;
};

// A tuple of a class that names its items: namedtuples, results of torch's functions.
class NamedTupleVariable : public SequenceVariable {
 public:
  NamedTupleVariable(PyRef type, std::vector<VarRef> items, SourceRef source = nullptr)
      : SequenceVariable(/*is_list=*/false, std::move(items), std::move(source)),
        type_(std::move(type)) {}

  const Slots& slots() const override;
  void rebuild(CodeWriter& w) const override;
  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(type_.get()); }

 private:
  PyRef type_;
};

// A dict whose keys are constants, in their order.
class DictVariable : public Variable {
 public:
  using Entries = std::vector<std::pair<VarRef, VarRef>>;
  explicit DictVariable(Entries entries, SourceRef source = nullptr, PyRef found = PyRef())
      : Variable(std::move(source)), entries_(std::move(entries)), found_(std::move(found)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "dict"; }
  std::vector<VarRef> parts() const override;
  void rebuild(CodeWriter& w) const override;
  Entries& entries() const { return entries_; }
  PyBorrow found() const { return found_; }  // null: the frame made it
  void erase(const VarRef& key) const;
  VarRef find(const VarRef& key) const;  // null: there is none
  void set(const VarRef& key, VarRef value) const;

 private:
  mutable Entries entries_;
  PyRef found_;
};

// A set that the frame made, of constants and of objects that are told apart by identity: those
// from outside, and tensors. Breaks where it is asked about others.
class SetVariable : public Variable {
 public:
  explicit SetVariable(PyRef set) : set_(std::move(set)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "set"; }
  std::vector<VarRef> parts() const override { return objects_; }
  void rebuild(CodeWriter& w) const override;
  PyBorrow set() const { return set_; }  // a tensor's place is taken by its stand-in
  bool has_objects() const { return !objects_.empty(); }
  void add(Translator& t, const VarRef& value) const;
  bool discard(Translator& t, const VarRef& value) const;  // whether it was there
  bool holds(Translator& t, const VarRef& value) const;

 private:
  PyRef set_;
  mutable std::vector<VarRef> objects_;  // those of its elements that are no constants
};

// A list's or dict's method, before it is called.
class ContainerMethodVariable : public Variable {
 public:
  ContainerMethodVariable(VarRef self, std::string name)
      : self_(std::move(self)), name_(std::move(name)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method of a container"; }
  std::vector<VarRef> parts() const override { return {self_}; }
  void rebuild(CodeWriter& w) const override;
  const VarRef& self() const { return self_; }
  const std::string& name() const { return name_; }

 private:
  VarRef self_;
  std::string name_;
};

// What a for statement asks for the next value.
class IteratorVariable : public Variable {
 public:
  const Slots& slots() const override;
  std::string type_name() const override { return "iterator"; }
  virtual VarRef next(Translator& t) const = 0;  // null: there is no more
};

// What several functions share: closures' variables.
class CellVariable : public Variable {
 public:
  explicit CellVariable(VarRef content, SourceRef source = nullptr)
      : Variable(std::move(source)), content_(std::move(content)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "cell"; }
  std::vector<VarRef> parts() const override;
  const VarRef& content() const { return content_; }  // null: unbound, or in a cell from outside
  void set(VarRef content) const { content_ = std::move(content); }

 private:
  mutable VarRef content_;
};

// A Python function that the frame made.
class FunctionVariable : public Variable {
 public:
  explicit FunctionVariable(PyRef code, PyBorrow globals, SourceRef globals_source)
      : code_(std::move(code)), globals_(globals), globals_source_(std::move(globals_source)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "function"; }
  std::vector<VarRef> parts() const override;
  void rebuild(CodeWriter& w) const override;
  PyBorrow code() const { return code_; }
  PyBorrow globals() const { return globals_; }
  const SourceRef& globals_source() const { return globals_source_; }

  // While it is made.
  mutable std::vector<VarRef> defaults, closure;
  mutable std::vector<std::pair<std::string, VarRef>> named_defaults;

 private:
  PyRef code_;
  PyBorrow globals_;
  SourceRef globals_source_;
};

// A function with the object that comes before its arguments.
class BoundMethodVariable : public Variable {
 public:
  BoundMethodVariable(VarRef self, VarRef function)
      : self_(std::move(self)), function_(std::move(function)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method"; }
  std::vector<VarRef> parts() const override { return {self_, function_}; }
  void rebuild(CodeWriter& w) const override;
  const VarRef& self() const { return self_; }
  const VarRef& function() const { return function_; }

 private:
  VarRef self_, function_;
};

// functools.partial(function, ...).
class PartialVariable : public Variable {
 public:
  PartialVariable(VarRef function, CallArgs args)
      : function_(std::move(function)), args_(std::move(args)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "functools.partial"; }
  std::vector<VarRef> parts() const override;
  const VarRef& function() const { return function_; }
  const CallArgs& args() const { return args_; }

 private:
  VarRef function_;
  CallArgs args_;
};

// An object of a class of Python's that the frame made, with what it keeps in its dict or slots.
class InstanceVariable : public Variable {
 public:
  explicit InstanceVariable(VarRef type);

  const Slots& slots() const override;
  std::string type_name() const override;
  std::vector<VarRef> parts() const override;
  void rebuild(CodeWriter& w) const override;
  // Writes what is in it, when it is there.
  void fill(CodeWriter& w) const;

  const VarRef& type() const { return type_; }
  PyTypeObject* raw_type() const { return reinterpret_cast<PyTypeObject*>(type_->object().get()); }
  VarRef own(const std::string& name) const;  // null: there is none
  void set_own(const std::string& name, VarRef value) const;
  bool erase_own(const std::string& name) const;  // whether there was one
  DictVariable::Entries members() const;          // all of its own
  // What it holds as a dict; null: its class extends none.
  const VarRef& contents() const { return contents_; }

 private:
  VarRef type_, contents_;
  mutable std::vector<std::pair<std::string, VarRef>> own_;
};

// A method of object's own, which super() found.
class ObjectMethodVariable : public Variable {
 public:
  ObjectMethodVariable(VarRef self, std::string name)
      : self_(std::move(self)), name_(std::move(name)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "method of object"; }
  const VarRef& self() const { return self_; }
  const std::string& name() const { return name_; }

 private:
  VarRef self_;
  std::string name_;
};

// From now on calls of this function are nodes of graphs. It stays alive.
void allow_in_graph(PyBorrow function);

// An object's __dict__, to be read.
class MembersVariable : public Variable {
 public:
  explicit MembersVariable(VarRef self) : self_(std::move(self)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "__dict__"; }
  std::vector<VarRef> parts() const override { return {self_}; }
  void rebuild(CodeWriter& w) const override;
  const VarRef& self() const { return self_; }

 private:
  VarRef self_;
};

// super(type, self).
class SuperVariable : public Variable {
 public:
  SuperVariable(VarRef type, VarRef self) : type_(std::move(type)), self_(std::move(self)) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "super"; }
  const VarRef& type() const { return type_; }
  const VarRef& self() const { return self_; }

 private:
  VarRef type_, self_;
};

// An object from outside: a module of Python or of torch.nn, a function, an instance.
class ObjectVariable : public Variable {
 public:
  ObjectVariable(PyRef object, SourceRef source)
      : Variable(std::move(source)), object_(std::move(object)) {}

  const Slots& slots() const override;
  std::string type_name() const override;
  PyBorrow object() const override { return object_; }

 private:
  PyRef object_;
};

}  // namespace torchdyn
