#include <charconv>
#include <cmath>

#include "absl/strings/str_join.h"

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/ir/call_text.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/text.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_append;
using aten_bridge::str_cat;

namespace {

constexpr size_t kLineWidth = 100;

// The shortest text that reads back as the value, in the dtype's own precision.
std::string floating_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  char* const end = buffer + sizeof(buffer);
  return {buffer, dtype == DType::kFloat64
                      ? std::to_chars(buffer, end, value).ptr
                      : std::to_chars(buffer, end, static_cast<float>(value)).ptr};
}

std::string literal_text(Expr e) {
  if (is_floating(e.dtype()))
    return str_cat(floating_text(e.floating(), e.dtype()), ":", to_string(e.dtype()));
  if (e.dtype() == DType::kBool) return e.integer() ? "true" : "false";
  return str_cat(e.integer(), ":", to_string(e.dtype()));
}

// Prints the expressions of one leaf: what is used twice gets a line and a name of its own.
class LeafPrinter {
 public:
  LeafPrinter(const LoopProgram& program, std::span<const Expr> roots) : program_(program) {
    HashMap<const ExprNode*, int> uses;
    std::vector<Expr> order;
    for_each_node(roots, [&](Expr e) {
      order.push_back(e);
      for (Expr arg : e.args()) ++uses[arg.node()];
    });
    for (Expr root : roots) ++uses[root.node()];
    for (Expr e : order) {
      if (e.args().empty() || uses[e.node()] < 2) continue;
      std::string line = text(e);
      const std::string name = str_cat("%", lines_.size());
      lines_.push_back(str_cat(name, " = ", line));
      names_[e.node()] = name;
    }
  }

  const std::vector<std::string>& lines() const { return lines_; }

  std::string text(Expr e) const {
    if (auto named = names_.find(e.node()); named != names_.end()) return named->second;
    switch (e.op()) {
      case ScalarOp::constant:
        return literal_text(e);
      case ScalarOp::index:
        return str_cat("index(", e.index().str(), ")");
      case ScalarOp::cast:
        return str_cat(to_string(e.dtype()), "(", list(e.args()), ")");
      case ScalarOp::load:
        return access(e.buffer(), e.index(), e.args());
      default:
        return str_cat(row(e.op()).name, "(", list(e.args()), ")");
    }
  }

  std::string access(int buffer, const SymExpr& index, std::span<const Expr> symbol_values) const {
    return str_cat(program_.buffers[buffer].name, "[", index.str(),
                   symbol_values.empty() ? "" : "; ", list(symbol_values), "]");
  }

 private:
  std::string list(std::span<const Expr> args) const {
    std::string all;
    for (Expr arg : args) str_append(&all, all.empty() ? "" : ", ", text(arg));
    return all;
  }

  const LoopProgram& program_;
  std::vector<std::string> lines_;
  HashMap<const ExprNode*, std::string> names_;
};

std::string_view assignment(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "+=";
    case ReduceOp::kProd:
      return "*=";
    case ReduceOp::kMax:
      return "max=";
    case ReduceOp::kMin:
      return "min=";
  }
  return "?";
}

class Printer {
 public:
  explicit Printer(const LoopProgram& program)
      : program_(program), names_([&program](int buffer) -> NamedBuffer {
          return {program.buffers[buffer].name, &program.buffers[buffer].type};
        }) {}

  std::string print() {
    head();
    for (const Buffer& buffer : program_.buffers)
      if (buffer.role != BufferRole::kInput)
        line(1, str_cat(declaration(buffer), role(buffer)), "");
    for (size_t i = 0; i < program_.body.size(); ++i)
      stmt(1, program_.body[i], i < program_.origins.size() ? program_.origins[i] : "");
    return text_ + "}\n";
  }

 private:
  static std::string declaration(const Buffer& buffer) {
    return str_cat(buffer.name, ": ", aten_bridge::print(buffer.type));
  }

  static std::string_view role(const Buffer& buffer) {
    if (buffer.role == BufferRole::kOutput) return " output";
    return buffer.role == BufferRole::kLocal ? " local" : "";
  }

  // On one line where it fits, else an input a line.
  void head() {
    std::vector<std::string> inputs, outputs;
    for (int input : program_.inputs) inputs.push_back(declaration(program_.buffers[input]));
    for (const auto& output : program_.outputs) outputs.push_back(inductor::print(output, names_));
    const std::string start = str_cat("loops 1 ", program_.name, "(");
    const std::string end = str_cat(") -> ", absl::StrJoin(outputs, ", "), " {\n");
    text_ = str_cat(start, absl::StrJoin(inputs, ", "), end);
    if (text_.size() > kLineWidth)
      text_ = str_cat(start, "\n    ", absl::StrJoin(inputs, ",\n    "), end);
  }

  void line(int depth, std::string_view content, std::string_view comment) {
    str_append(&text_, std::string(2 * depth, ' '), content, comment.empty() ? "" : "  # ", comment,
               "\n");
  }

  void stmt(int depth, const Stmt& s, std::string_view origin) {
    std::visit(
        overloaded{
            [&](const Loop& loop) {
              line(depth,
                   str_cat("for ", SymExpr::symbol(loop.var).str(), " < ", loop.extent.str(),
                           loop.kind == LoopKind::kReduction ? " reduction" : "",
                           loop.parallel ? " parallel" : "", loop.vector ? " vector" : ""),
                   origin);
              for (const Stmt& inner : loop.body) stmt(depth + 1, inner, "");
            },
            [&](const Kernel& kernel) {
              std::string head = str_cat("kernel ", kernel.name);
              if (kernel.lanes > 0) str_append(&head, " lanes ", kernel.lanes);
              if (kernel.groups > 1) str_append(&head, " groups ", kernel.groups);
              line(depth, head, absl::StrJoin(kernel.origins, ", "));
              for (const Stmt& inner : kernel.body) stmt(depth + 1, inner, "");
            },
            [&](const Store& s) { leaf(depth, origin, s, {}, "="); },
            [&](const Reduce& r) { leaf(depth, origin, r, {}, assignment(r.op)); },
            [&](const Scatter& s) { leaf(depth, origin, s, s.symbol_values, assignment(s.op)); },
            [&](const ExternCall& call) { line(depth, inductor::print(call, names_), origin); },
        },
        s);
  }

  template <class Leaf>
  void leaf(int depth, std::string_view origin, const Leaf& leaf, std::span<const Expr> symbols,
            std::string_view assign) {
    std::vector<Expr> roots(symbols.begin(), symbols.end());
    roots.push_back(leaf.value);
    const LeafPrinter printer(program_, roots);
    for (const std::string& shared : printer.lines()) line(depth, shared, "");
    line(depth,
         str_cat(printer.access(leaf.buffer, leaf.index, symbols), " ", assign, " ",
                 printer.text(leaf.value)),
         origin);
  }

  const LoopProgram& program_;
  const BufferNames names_;
  std::string text_;
};

}  // namespace

std::string print(const LoopProgram& program) { return Printer(program).print(); }

std::string print(Expr e, const LoopProgram& program) {
  const LeafPrinter printer(program, {&e, 1});
  std::vector<std::string> lines = printer.lines();
  lines.push_back(printer.text(e));
  return absl::StrJoin(lines, "; ");
}

}  // namespace inductor
