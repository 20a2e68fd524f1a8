// The FX graph that a capture makes, and the tensors that go into it.
//   OutputGraph graph(gil);
//   PyRef x = graph.add_input(gil, source, tensor, "x");
//   PyRef y = graph.call_function(gil, relu, tuple_of(x), kwargs);
#pragma once

#include <string>
#include <vector>

#include "torchdyn/cpython/py_ref.h"
#include "torchdyn/guards/source.h"

namespace torchdyn {

class OutputGraph {
 public:
  struct Input {
    SourceRef source;
    PyRef tensor;  // what it is in the call that is captured
  };

  explicit OutputGraph(const Gil&);

  // Nodes, as torch.fx.Node.
  PyRef add_input(const Gil&, SourceRef source, PyBorrow tensor);
  PyRef call_function(const Gil&, PyBorrow function, const PyRef& args, const PyRef& kwargs);
  PyRef call_method(const Gil&, const char* method, const PyRef& args, const PyRef& kwargs);
  void erase(const Gil&, PyBorrow node);  // nobody uses it

  // A torch.fx.GraphModule that gives a tuple of these nodes.
  PyRef finish(const Gil&, const PyRef& results);

  const std::vector<Input>& inputs() const { return inputs_; }
  // Whether loading them takes more than an instruction each: then whoever checked the guards gives
  // them to the code, in a tuple.
  bool are_inputs_given() const;
  int calls() const { return calls_; }

 private:
  PyRef graph_;
  std::vector<Input> inputs_;
  int calls_ = 0;
};

}  // namespace torchdyn
