#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

template <class... Parts>
absl::Status broken(const Parts&... parts) {
  return absl::InvalidArgumentError(str_cat(parts...));
}

constexpr auto kWordParts = [] {
  std::array<bool, 256> parts{};
  for (unsigned char c = 0; c < 128; ++c)
    parts[c] = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '_' || c == '.';
  return parts;
}();

bool is_word_part(char c) { return kWordParts[static_cast<unsigned char>(c)]; }

bool is_word(std::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(text[0]) && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), is_word_part);
}

// A word with a meaning of its own in the graph's text, a symbol as in expr.h among them.
bool is_reserved(std::string_view word) {
  constexpr std::string_view kWords[] = {"none",   "true",    "false",     "inf", "nan",
                                         "return", "complex", "floor_div", "mod", "min",
                                         "max",    "tensor",  "double",    "bool"};
  const bool symbol = word.size() > 1 && std::string_view("sit").find(word[0]) != word.npos &&
                      word.find_first_not_of("0123456789", 1) == word.npos;
  return symbol || std::count(std::begin(kWords), std::end(kWords), word) > 0 || parse_dtype(word);
}

// "aten::add.Tensor"
bool is_operator(std::string_view op) {
  const size_t colons = op.find("::");
  return colons != op.npos && is_word(op.substr(0, colons)) && is_word(op.substr(colons + 2));
}

absl::Status verify_type(const TensorType& type) {
  if (type.sizes.size() != type.strides.size()) return broken("sizes and strides differ in number");
  for (const auto& [extents, what] : {std::pair(&type.sizes, "size"), {&type.strides, "stride"}})
    for (const SymExpr& e : *extents)
      if (e.constant().value_or(0) < 0) return broken("a negative ", what, ", ", e.str());
  return absl::OkStatus();
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  absl::Status run() {
    if (!is_word(graph_.name)) return broken("the graph's name \"", graph_.name, "\" is no word");
    HashSet<std::string> names;
    defined_.reserve(graph_.inputs().size() + graph_.nodes().size());
    for (Value input : graph_.inputs()) {
      if (auto status = verify_input(input, names); !status.ok()) return status;
      defined_.insert(input.node);
    }
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = *graph_.nodes()[i];
      if (auto status = verify_node(node); !status.ok())
        return broken("node ", i, " (", node.op, "): ", to_view(status));
      defined_.insert(&node);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (const auto& output = graph_.outputs()[i])
        if (auto status = verify_use(*output); !status.ok())
          return broken("result ", i, ": ", to_view(status));
    return absl::OkStatus();
  }

 private:
  static std::string to_view(const absl::Status& status) { return std::string(status.message()); }

  absl::Status verify_input(Value input, HashSet<std::string>& names) {
    const Node& node = *input.node;
    if (!is_word(node.name) || is_reserved(node.name))
      return broken("input \"", node.name, "\": not a name");
    if (!names.insert(node.name).second) return broken("input ", node.name, ": stands twice");
    if (!node.is_input() || node.outputs.size() != 1 || !node.outputs[0])
      return broken("input ", node.name, ": must have one type and no operator");
    if (auto status = verify_type(*node.outputs[0]); !status.ok())
      return broken("input ", node.name, ": ", to_view(status));
    return absl::OkStatus();
  }

  absl::Status verify_node(const Node& node) {
    if (!is_operator(node.op)) return broken("not an operator's name");
    if (!is_operator(node.origin)) return broken("the origin \"", node.origin, "\" is no operator");
    for (auto a = node.args.begin(); a != node.args.end(); ++a) {  // they are few
      if (!is_word(a->name)) return broken("an argument is named \"", a->name, "\"");
      if (std::any_of(node.args.begin(), a, [&](const auto& b) { return b.name == a->name; }))
        return broken("argument ", a->name, " stands twice");
    }
    for (Value input : node.inputs())
      if (auto status = verify_use(input); !status.ok()) return status;
    for (const auto& type : node.outputs)
      if (type)
        if (auto status = verify_type(*type); !status.ok()) return status;
    return absl::OkStatus();
  }

  absl::Status verify_use(Value value) {
    if (!defined_.contains(value.node)) return broken("uses a value that is not defined before it");
    if (value.index < 0 || static_cast<size_t>(value.index) >= value.node->outputs.size())
      return broken("uses output ", value.index, " of ", value.node->op, ", which has fewer");
    if (!value.node->outputs[value.index])
      return broken("uses output ", value.index, " of ", value.node->op, ", which is undefined");
    return absl::OkStatus();
  }

  const Graph& graph_;
  HashSet<const Node*> defined_;
};

}  // namespace

absl::Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace aten_bridge
