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
    PyRef value;  // what it is in the call that is captured: a tensor, or an int
    PyRef like;   // the tensor without data, or the symbol, that stands for it
  };

  explicit OutputGraph(const Gil&);

  // Nodes, as torch.fx.Node.
  PyRef add_input(const Gil&, SourceRef source, PyBorrow value, PyBorrow like);
  PyRef call_function(const Gil&, PyBorrow function, const PyRef& args, const PyRef& kwargs);
  PyRef call_method(const Gil&, const char* method, const PyRef& args, const PyRef& kwargs);
  void erase(const Gil&, PyBorrow node);  // nobody uses it
  // The node that was made last gives a number that sizes tell: nothing to compile for.
  void computes_no_tensor() { --calls_; }
  // Tells backends of inputs whose sizes are open, as torch.compile does: meta["example_value"].
  void describe_inputs(const Gil&);

  // A torch.fx.GraphModule that gives a tuple of these nodes.
  PyRef finish(const Gil&, const PyRef& results);

  // The torch.fx.Graph, and the module that holds graphs within it.
  PyBorrow graph() const { return graph_; }
  PyBorrow root() const { return root_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  // Whether loading them takes more than an instruction each: then whoever checked the guards gives
  // them to the code, in a tuple.
  bool are_inputs_given() const;
  int calls() const { return calls_; }

 private:
  PyRef graph_, root_;
  std::vector<Input> inputs_;
  std::vector<PyRef> placeholders_;
  int calls_ = 0;
};

}  // namespace torchdyn
