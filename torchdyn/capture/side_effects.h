// Changes of what the frame found, as far as they are captured: made when the code that runs
// instead has called the graph, in the order of their beginning.
//   effects.set_attribute(module, "steps", value);     // an object from outside
//   effects.attribute(*module->object(), "steps")      // what the frame itself sees from now on
//   effects.change(list);                              // a list, dict or cell from outside
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "torchdyn/variables/variable.h"

namespace torchdyn {

class CodeWriter;
class Guards;

class SideEffects {
 public:
  void set_attribute(const VarRef& object, const std::string& name, VarRef value);
  VarRef attribute(PyBorrow object, const std::string& name) const;  // null: not written
  bool changes(PyBorrow object) const;  // whether one of its attributes is written

  void set_global(const std::string& name, VarRef value);
  VarRef global(const std::string& name) const;  // null: not written

  // What the variable has when the frame ends will be in the object.
  void change(const VarRef& container);

  // The ContextTokenVariable that set a variable last; null: it has what the frame found.
  void set_context(PyBorrow variable, VarRef token);
  VarRef context(PyBorrow variable) const;

  size_t size() const { return changes_.size() + contexts_.size(); }
  bool empty() const { return changes_.empty() && contexts_.empty(); }
  // What has been written, for a graph to give it.
  std::vector<VarRef> values() const;

  // What an object was found as: who is changed must be told from who is not.
  void found(PyBorrow object, SourceRef source);
  void guard_aliases(Guards* guards) const;

  // Makes all values, then makes the changes.
  void write(CodeWriter& w) const;

 private:
  struct Change {
    VarRef owner;      // null: the frame's globals
    std::string name;  // "": the container itself
    VarRef value;
  };
  struct Found {
    PyBorrow object;
    SourceRef source;
  };

  const Change* find(PyBorrow object, const std::string& name) const;
  static std::vector<VarRef> written(const Change& change);

  std::vector<Change> changes_;
  std::vector<std::pair<PyBorrow, VarRef>> contexts_;
  std::vector<Found> found_;
};

}  // namespace torchdyn
