#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/argument_text.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

constexpr size_t kLineWidth = 100;

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {
    for (Value input : graph.inputs()) names_[input] = input.node->name;
  }

  std::string print() {
    std::string text = head();
    for (const auto& node : graph_.nodes()) str_append(&text, "  ", line(*node), "\n");
    const std::string outputs = join(
        graph_.outputs(), [&](const std::optional<Value>& v) { return v ? name(*v) : "none"; });
    str_append(&text, "  return", outputs.empty() ? "" : " ", outputs, "\n}\n");
    return text;
  }

 private:
  // On one line where it fits, else an input a line.
  std::string head() const {
    const auto input = [](Value v) {
      return str_cat(v.node->name, ": ", aten_bridge::print(v.type()));
    };
    const std::string start = str_cat("graph ", kGraphTextVersion, " ", graph_.name, "(");
    std::string line = str_cat(start, join(graph_.inputs(), input), ") {\n");
    if (line.size() <= kLineWidth) return line;
    std::string text = start;
    for (Value v : graph_.inputs())
      str_append(&text, v == graph_.inputs().front() ? "\n" : ",\n", "    ", input(v));
    return text + ") {\n";
  }

  std::string line(const Node& node) {
    std::string results;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string name = str_cat("%", next_value_++);
      names_[node.output(static_cast<int>(i))] = name;
      const auto& type = node.outputs[i];
      str_append(&results, i == 0 ? "" : ", ", name, ": ",
                 type ? aten_bridge::print(*type) : "none");
    }
    const std::string args = join(node.args, [&](const Argument& a) {
      const std::string value = print_argument(a.value, [&](Value v) { return name(v); });
      return a.name == "self" ? value : str_cat(a.name, "=", value);
    });
    return str_cat(results, results.empty() ? "" : " = ", node.op, "(", args, ")",
                   node.origin == node.op ? "" : "  # " + node.origin);
  }

  // A value that is not defined still prints: verify() reports it.
  std::string name(Value value) const {
    auto found = names_.find(value);
    return found == names_.end() ? "%undefined" : found->second;
  }

  const Graph& graph_;
  HashMap<Value, std::string> names_;
  int next_value_ = 0;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).print(); }

}  // namespace aten_bridge
