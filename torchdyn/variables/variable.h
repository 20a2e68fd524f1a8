// What is known of a value while a frame is captured.
//   VarRef y = protocol::binary(t, BinaryOperator::kAdd, x, one);
//
// Law
//  - A Variable never changes: an operation gives another one. Lists, dicts, cells and iterators
//    change as they do in Python; what is done to those from outside is a side effect, written when
//    the graph has been called (capture/side_effects.h).
//  - Slots say what a kind of value can do, as CPython's type slots do, and protocol.h asks them in
//    CPython's order. A slot that the type does not have is null, and Python raises; a slot that is
//    there but not modelled breaks the graph.
//  - A Variable with a source is an object that the frame finds there again on a later call; what
//    was read of it is guarded.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "torchdyn/cpython/py_ref.h"
#include "torchdyn/guards/source.h"

namespace torchdyn {

class CodeWriter;
class Translator;
class Variable;
using VarRef = std::shared_ptr<const Variable>;

struct CallArgs {
  std::vector<VarRef> positional;
  std::vector<std::pair<std::string, VarRef>> named;
};

struct Slots {
  VarRef (*getattro)(Translator&, const VarRef& self, const std::string& name) = nullptr;
  void (*setattro)(Translator&, const VarRef& self, const std::string& name,
                   const VarRef& value) = nullptr;
  VarRef (*call)(Translator&, const VarRef& self, const CallArgs& args) = nullptr;
  // nb_add and its kin; the function is operator's: add, iadd, mul, ..., lt, eq, ...
  VarRef (*number)(Translator&, PyBorrow function, const VarRef& left,
                   const VarRef& right) = nullptr;
  VarRef (*subscript)(Translator&, const VarRef& self, const VarRef& key) = nullptr;
  void (*set_item)(Translator&, const VarRef& self, const VarRef& key,
                   const VarRef& value) = nullptr;
  VarRef (*iterate)(Translator&, const VarRef& self) = nullptr;  // gives an IteratorVariable
  bool (*contains)(Translator&, const VarRef& self, const VarRef& value) = nullptr;
  VarRef (*length)(Translator&, const VarRef& self) = nullptr;
  VarRef (*truth)(Translator&, const VarRef& self) = nullptr;  // gives what has a truth
};

class Variable {
 public:
  explicit Variable(SourceRef source = nullptr) : source_(std::move(source)) {}
  virtual ~Variable() = default;

  virtual const Slots& slots() const = 0;
  virtual std::string type_name() const = 0;

  // As an argument of a call in the graph, and of the same call on tensors without data. The
  // default breaks the graph.
  virtual PyRef as_node(const Gil&) const;
  virtual PyRef as_stand_in(const Gil&) const;
  // Its parts, where it is a tuple or list.
  virtual const std::vector<VarRef>* items() const { return nullptr; }
  // What it consists of, where the frame made it.
  virtual std::vector<VarRef> parts() const { return {}; }
  // Writes code that makes it, of its parts. The default breaks the graph.
  virtual void rebuild(CodeWriter& w) const;
  // The object itself, where it is known now.
  virtual PyBorrow object() const { return PyBorrow(); }

  const SourceRef& source() const { return source_; }  // null: the frame made it

 private:
  SourceRef source_;
};

}  // namespace torchdyn
