#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/argument_text.h"
#include "aten_bridge/graph/scanner.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Graph graph() {
    head();
    while (!in_.eat_word("return")) node();
    std::vector<std::optional<Value>> results;
    if (!in_.sees("}")) {
      do results.push_back(in_.eat_word("none") ? std::nullopt : std::optional(result()));
      while (in_.eat(","));
    }
    in_.expect("}");
    if (!in_.at_end()) in_.fail("the end");
    graph_.set_outputs(std::move(results));
    return std::move(graph_);
  }

 private:
  void head() {
    if (!in_.eat_word("graph")) in_.fail("'graph'");
    if (Scanner ahead = in_; !ahead.sees_number() || ahead.number() != kGraphTextVersion)
      in_.fail(str_cat("version ", kGraphTextVersion));
    in_.number();
    graph_.name = in_.word();
    in_.expect("(");
    if (!in_.eat(")")) {
      do {
        const std::string name(in_.word());
        in_.expect(":");
        define(name, graph_.add_input(name, parse_type(in_)));
      } while (in_.eat(","));
      in_.expect(")");
    }
    in_.expect("{");
  }

  void node() {
    std::vector<std::string> names;
    std::vector<std::optional<TensorType>> types;
    if (in_.sees("%")) {
      do {
        names.push_back(value_name());
        in_.expect(":");
        types.push_back(in_.eat_word("none") ? std::nullopt : std::optional(parse_type(in_)));
      } while (in_.eat(","));
      in_.expect("=");
    }
    if (!in_.sees_word()) in_.fail("an operator or 'return'");
    std::string op(in_.word());
    std::vector<Argument> args = arguments();
    std::string origin(in_.comment());
    Node* n = graph_.add(std::move(op), std::move(args), std::move(types), std::move(origin));
    for (size_t i = 0; i < names.size(); ++i) define(names[i], n->output(static_cast<int>(i)));
  }

  std::vector<Argument> arguments() {
    std::vector<Argument> args;
    in_.expect("(");
    if (in_.eat(")")) return args;
    do args.push_back(argument());
    while (in_.eat(","));
    in_.expect(")");
    return args;
  }

  Argument argument() {
    Scanner ahead = in_;
    std::string name(ahead.word_if_any());
    if (name.empty() || !ahead.eat("=")) {
      name = "self";
    } else {
      in_ = ahead;
    }
    return {std::move(name),
            parse_argument<Value>(in_, [&](Scanner& in) { return tensor_if_any(in); })};
  }

  std::string value_name() {
    in_.expect("%");
    return str_cat("%", in_.sees_word() ? in_.word() : in_.number());
  }

  Value result() {
    if (std::optional<Value> v = tensor_if_any(in_)) return *v;
    in_.fail("a tensor or none");
  }

  std::optional<Value> tensor_if_any(Scanner& in) {
    if (in.sees("%")) {
      const std::string name = value_name();
      auto found = values_.find(name);
      if (found == values_.end()) in.refuse(str_cat(name, " is not defined before its use"));
      return found->second;
    }
    Scanner ahead = in;
    auto found = values_.find(std::string(ahead.word_if_any()));
    if (found == values_.end()) return std::nullopt;
    in = ahead;
    return found->second;
  }

  void define(const std::string& name, Value value) {
    if (!values_.emplace(name, value).second) in_.refuse(str_cat(name, " is defined twice"));
  }

  Scanner in_;
  Graph graph_;
  HashMap<std::string, Value> values_;
};

}  // namespace

absl::StatusOr<Graph> parse_graph(std::string_view text) {
  try {
    return Parser(text).graph();
  } catch (const SyntaxError& error) {
    return absl::InvalidArgumentError(error.message);
  }
}

}  // namespace aten_bridge
