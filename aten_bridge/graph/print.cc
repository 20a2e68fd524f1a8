#include <charconv>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/names.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

constexpr size_t kLineWidth = 100;

std::string print_double(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;  // shortest exact
  std::string text(buffer, end);
  if (std::isfinite(value) && text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string print_device(Device device) {
  if (device.kind == Device::Kind::kCpu) return "@cpu";
  return str_cat("@cuda:", device.index);
}

template <class Items, class Print>
std::string join(const Items& items, Print print) {
  std::string text;
  for (const auto& item : items) str_append(&text, text.empty() ? "" : ", ", print(item));
  return text;
}

std::string print_sizes(const std::vector<SymExpr>& sizes) {
  return join(sizes, [](const SymExpr& e) { return e.str(); });
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {
    for (Value input : graph.inputs()) names_[input] = input.node->name;
  }

  std::string print() {
    std::string text = head();
    for (const auto& node : graph_.nodes()) str_append(&text, "  ", line(*node), "\n");
    const std::string outputs = join(graph_.outputs(), [&](const auto& v) { return name(v); });
    str_append(&text, "  return", outputs.empty() ? "" : " ", outputs, "\n}\n");
    return text;
  }

 private:
  // On one line where it fits, else an input a line.
  std::string head() const {
    const auto input = [](Value v) {
      return str_cat(v.node->name, ": ", aten_bridge::print(v.type()));
    };
    const std::string start = str_cat("graph ", kTextVersion, " ", graph_.name, "(");
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
      names_[node.output(i)] = name;
      const auto& type = node.outputs[i];
      str_append(&results, i == 0 ? "" : ", ", name, ": ",
                 type ? aten_bridge::print(*type) : "none");
    }
    const std::string args = join(node.args, [&](const Argument& a) {
      return str_cat(a.name == "self" ? "" : a.name + "=", print(a.value));
    });
    return str_cat(results, results.empty() ? "" : " = ", node.op, "(", args, ")",
                   node.origin == node.op ? "" : "  # " + node.origin);
  }

  std::string name(const std::optional<Value>& value) const {
    if (!value) return "none";
    auto found = names_.find(*value);
    return found == names_.end() ? "%undefined" : found->second;  // verify() reports it
  }

  std::string print(const ArgumentValue& value) const {
    return std::visit([&](const auto& v) { return print(v); }, value);
  }

  std::string print(std::monostate) const { return "none"; }
  std::string print(Value v) const { return name(v); }
  std::string print(const SymExpr& v) const { return v.str(); }
  std::string print(double v) const { return print_double(v); }
  std::string print(bool v) const { return v ? "true" : "false"; }
  std::string print(std::complex<double> v) const {
    return str_cat("complex(", print_double(v.real()), ", ", print_double(v.imag()), ")");
  }
  std::string print(const std::string& v) const { return str_cat("\"", absl::CEscape(v), "\""); }
  std::string print(DType v) const { return std::string(to_string(v)); }
  std::string print(Device v) const { return print_device(v); }

  std::string print(const std::vector<SymExpr>& v) const {
    return str_cat("[", print_sizes(v), "]");
  }
  std::string print(const std::vector<std::optional<Value>>& v) const {
    return list("tensor", join(v, [&](const auto& t) { return name(t); }));
  }
  std::string print(const std::vector<double>& v) const {
    return list("double", join(v, print_double));
  }
  std::string print(const std::vector<bool>& v) const {
    return list("bool", join(v, [&](bool b) { return print(b); }));
  }
  static std::string list(std::string_view type, const std::string& items) {
    return str_cat(items.empty() ? type : "", "[", items, "]");
  }

  const Graph& graph_;
  absl::flat_hash_map<Value, std::string> names_;
  int next_value_ = 0;
};

}  // namespace

std::string print(const TensorType& type) {
  std::string text = str_cat(to_string(type.dtype), "[", print_sizes(type.sizes), "]");
  if (type.strides != contiguous_strides(type.sizes))
    str_append(&text, "{", print_sizes(type.strides), "}");
  if (!(type.device == Device{})) text += print_device(type.device);
  return text;
}

std::string print(const Graph& graph) { return Printer(graph).print(); }

}  // namespace aten_bridge
