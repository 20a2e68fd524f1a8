#include "torchdyn/capture/output_graph.h"

#include <algorithm>

#include "torchdyn/cpython/objects.h"

namespace torchdyn {
namespace {

// "self.weight" is no name of an argument.
std::string identifier(const std::string& text) {
  std::string made;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      made += c;
    } else if (!made.empty() && made.back() != '_') {
      made += '_';
    }
  while (!made.empty() && made.back() == '_') made.pop_back();
  return made;
}

PyRef dict_or_empty(const PyRef& dict) { return dict ? PyRef::to(dict) : owned(PyDict_New()); }

}  // namespace

OutputGraph::OutputGraph(const Gil& gil)
    : graph_(call(gil, import_attribute(gil, "torch.fx", "Graph"), tuple_of({}))),
      root_(call(gil, import_attribute(gil, "torch.nn", "Module"), tuple_of({}))) {}

PyRef OutputGraph::add_input(const Gil& gil, SourceRef source, PyBorrow value, PyBorrow like) {
  PyRef node =
      torchdyn::call_method(gil, graph_, "placeholder", {name(identifier(source->text()))});
  inputs_.push_back({std::move(source), PyRef::to(value), PyRef::to(like)});
  placeholders_.push_back(PyRef::to(node));
  return node;
}

void OutputGraph::describe_inputs(const Gil& gil) {
  for (size_t n = 0; n < inputs_.size(); ++n) {
    const PyRef meta = attribute(gil, placeholders_[n], "meta");
    if (PyDict_SetItemString(meta.get(), "example_value", inputs_[n].like.get()) != 0)
      throw PythonError();
  }
}

PyRef OutputGraph::call_function(const Gil& gil, PyBorrow function, const PyRef& args,
                                 const PyRef& kwargs) {
  ++calls_;
  return torchdyn::call_method(gil, graph_, "call_function",
                               {function, args, dict_or_empty(kwargs)});
}

PyRef OutputGraph::call_method(const Gil& gil, const char* method, const PyRef& args,
                               const PyRef& kwargs) {
  ++calls_;
  return torchdyn::call_method(gil, graph_, "call_method",
                               {name(method), args, dict_or_empty(kwargs)});
}

void OutputGraph::erase(const Gil& gil, PyBorrow node) {
  --calls_;
  (void)torchdyn::call_method(gil, graph_, "erase_node", {node});
}

bool OutputGraph::are_inputs_given() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
    return input.source->kind() != Source::Kind::kLocal;
  });
}

PyRef OutputGraph::finish(const Gil& gil, const PyRef& results) {
  (void)torchdyn::call_method(gil, graph_, "output", {results});
  const PyRef make = import_attribute(gil, "torch.fx", "GraphModule");
  std::vector<PyRef> args;
  args.push_back(PyRef::to(root_));
  args.push_back(PyRef::to(graph_));
  return call(gil, make, tuple_of(args));
}

}  // namespace torchdyn
