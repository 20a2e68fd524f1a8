#include "aten_bridge/graph/extract.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {

void Extract::add(const Node& node) {
  std::vector<Argument> args = node.args;
  for (Argument& a : args) a.value = map_tensors(a.value, [&](Value v) { return at(v); });
  Node* copy = graph_.add(node.op, std::move(args), node.outputs, node.origin);
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
    put(node.output(i), copy->output(i));
}

Graph Extract::finish(const std::vector<std::optional<Value>>& outputs) && {
  std::vector<std::optional<Value>> copied;
  for (const auto& v : outputs) copied.push_back(v ? std::optional(at(*v)) : std::nullopt);
  graph_.set_outputs(std::move(copied));
  const absl::Status status = verify(graph_);
  TD_CHECK(status.ok(), graph_.name, ": ", std::string(status.message()));
  return std::move(graph_);
}

}  // namespace aten_bridge
