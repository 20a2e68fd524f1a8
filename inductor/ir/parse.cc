#include <charconv>

#include "absl/strings/str_split.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/call_text.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/text.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

struct Line {
  int number;
  int depth;  // of indentation, two spaces each
  std::string text, comment;
};

// A '#' inside a quoted string is not a comment.
size_t comment_start(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '#' && !quoted) {
      return i;
    }
  }
  return line.npos;
}

std::string stripped(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return std::string(text);
}

std::vector<Line> split_lines(std::string_view text, int first_number) {
  std::vector<Line> lines;
  int number = first_number;
  for (absl::string_view raw : absl::StrSplit(aten_bridge::to_absl(text), '\n')) {
    const std::string_view line(raw.data(), raw.size());
    const size_t hash = comment_start(line);
    const size_t indent = line.find_first_not_of(' ');
    std::string content = stripped(line.substr(0, hash));
    if (!content.empty())
      lines.push_back({number, static_cast<int>(indent) / 2, std::move(content),
                       hash == line.npos ? "" : stripped(line.substr(hash + 1))});
    ++number;
  }
  return lines;
}

std::vector<std::string> split_origins(const std::string& comment) {
  if (comment.empty()) return {};
  return absl::StrSplit(comment, ", ");
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  LoopProgram parse() {
    Scanner in(text_);
    head(in);
    lines_ = split_lines(in.rest(), in.line());
    for (; !at_end() && !is_closing(); ++next_) {
      if (!declaration(lines_[next_])) break;
    }
    resolve_outputs();
    bool has_origins = false;
    while (!at_end() && !is_closing()) {
      program_.origins.emplace_back();
      program_.body.push_back(stmt(1, &program_.origins.back()));
      has_origins |= !program_.origins.back().empty();
    }
    if (!has_origins) program_.origins.clear();
    if (at_end()) throw SyntaxError{"the last line: expected '}'"};
    if (next_ + 1 != lines_.size()) fail(lines_[next_ + 1], "nothing after '}'");
    return std::move(program_);
  }

 private:
  // ---- lines ----

  bool at_end() const { return next_ >= lines_.size(); }
  bool is_closing() const { return lines_[next_].text == "}"; }

  [[noreturn]] static void fail(const Line& line, std::string_view expected) {
    throw SyntaxError{str_cat("line ", line.number, ": expected ", expected)};
  }

  // Runs `read` over a line, which it must use up; errors name the line.
  template <class Read>
  auto with_line(const Line& line, Read read) {
    Scanner in(line.text);
    try {
      auto result = read(in);
      if (!in.at_end()) in.fail("the end of the line");
      return result;
    } catch (const SyntaxError& e) {
      throw SyntaxError{
          str_cat("line ", line.number, ": ", e.message.substr(e.message.find(": ") + 2))};
    }
  }

  // ---- head and declarations ----

  void head(Scanner& in) {
    in.expect("loops");
    if (in.integer() != 1) in.fail("version 1 before here");
    program_.name = in.word();
    in.expect("(");
    while (!in.eat(")")) {
      const std::string name(in.word());
      in.expect(":");
      program_.inputs.push_back(add_buffer(name, parse_type(in), BufferRole::kInput, in));
      if (!in.sees(")")) in.expect(",");
    }
    in.expect("->");
    // Outputs name buffers that are declared below: read them after those.
    outputs_at_ = in.rest();
    const size_t brace = outputs_at_.find(" {\n");
    if (brace == outputs_at_.npos) in.fail("outputs, then '{' at the line's end");
    outputs_at_ = outputs_at_.substr(0, brace);
    in.skip_to(in.rest().substr(brace + 2));
  }

  void resolve_outputs() {
    Scanner in(outputs_at_);
    if (in.at_end()) return;
    do program_.outputs.push_back(parse_ref(in, lookup_, names_));
    while (in.eat(","));
    if (!in.at_end()) in.fail("',' or the end of the outputs");
  }

  int add_buffer(const std::string& name, TensorType type, BufferRole role, Scanner& in) {
    const int id = static_cast<int>(program_.buffers.size());
    if (!ids_.emplace(name, id).second)
      in.fail(str_cat("one declaration of ", name, " before here"));
    program_.buffers.push_back({name, std::move(type), role});
    return id;
  }

  // "buf0: f32[8] output"; false where the line is a statement.
  bool declaration(const Line& line) {
    return with_line(line, [&](Scanner& in) {
      const std::string name(in.word_if_any());
      if (name.empty() || !in.eat(":")) {
        in.skip_to("");
        return false;
      }
      TensorType type = parse_type(in);
      BufferRole role = BufferRole::kTemporary;
      if (in.eat("output")) role = BufferRole::kOutput;
      if (in.eat("local")) role = BufferRole::kLocal;
      add_buffer(name, std::move(type), role, in);
      return true;
    });
  }

  // ---- statements ----

  Stmt stmt(int depth, std::string* origin) {
    HashMap<std::string, Expr> shared;
    for (;; ++next_) {
      if (at_end() || is_closing()) throw SyntaxError{"the last line: expected a statement"};
      const Line& line = lines_[next_];
      if (line.depth != depth) fail(line, str_cat("an indentation of ", 2 * depth, " spaces"));
      if (line.text[0] != '%') break;
      with_line(line, [&](Scanner& in) {
        const std::string name = shared_name(in);
        in.expect("=");
        return shared[name] = expr(in, shared);
      });
    }
    const Line& line = lines_[next_++];
    if (origin) *origin = line.comment;
    Stmt s = with_line(line, [&](Scanner& in) { return statement_head(in, line, shared); });
    if (auto* loop = std::get_if<Loop>(&s)) block(depth + 1, loop->body);
    if (auto* kernel = std::get_if<Kernel>(&s)) block(depth + 1, kernel->body);
    return s;
  }

  void block(int depth, std::vector<Stmt>& body) {
    while (!at_end() && lines_[next_].depth >= depth) body.push_back(stmt(depth, nullptr));
  }

  using Shared = HashMap<std::string, Expr>;

  Stmt statement_head(Scanner& in, const Line& line, const Shared& shared) {
    Scanner ahead = in;
    const std::string_view first = ahead.word_if_any();
    if (first == "for") return in = ahead, loop_head(in);
    if (first == "kernel" && ahead.sees_word()) return in = ahead, kernel_head(in, line);
    if (lookup_(first) && ahead.sees("[")) return leaf(in, shared);
    return parse_call(in, lookup_, names_);
  }

  Stmt kernel_head(Scanner& in, const Line& line) {
    Kernel kernel;
    kernel.name = in.word();
    if (in.eat("lanes ")) kernel.lanes = static_cast<int>(in.sym().as_constant());
    if (in.eat("groups ")) kernel.groups = static_cast<int>(in.sym().as_constant());
    kernel.origins = split_origins(line.comment);
    return kernel;
  }

  Stmt loop_head(Scanner& in) {
    Loop loop;
    const auto var = in.sym().as_symbol();
    if (!var || var->kind != 'i') in.fail("a loop variable before here");
    loop.var = *var;
    program_.next_var = std::max(program_.next_var, var->index + 1);
    in.expect("<");
    loop.extent = in.sym();
    if (in.eat("reduction")) loop.kind = LoopKind::kReduction;
    loop.parallel = in.eat("parallel");
    loop.vector = in.eat("vector");
    return loop;
  }

  struct Access {
    int buffer;
    SymExpr index;
    std::vector<Expr> symbol_values;
  };

  Access access(Scanner& in, const Shared& shared) {
    const std::optional<int> buffer = lookup_(in.word());
    if (!buffer) in.fail("a buffer's name before here");
    Access a{*buffer, 0, {}};
    in.expect("[");
    a.index = in.sym();
    if (in.eat(";")) a.symbol_values = exprs(in, shared);
    in.expect("]");
    return a;
  }

  Stmt leaf(Scanner& in, const Shared& shared) {
    Access to = access(in, shared);
    std::optional<ReduceOp> op;
    if (in.eat("+="))
      op = ReduceOp::kSum;
    else if (in.eat("*="))
      op = ReduceOp::kProd;
    else if (in.eat("max="))
      op = ReduceOp::kMax;
    else if (in.eat("min="))
      op = ReduceOp::kMin;
    else
      in.expect("=");
    const Expr value = expr(in, shared);
    if (!to.symbol_values.empty()) {
      if (!op) in.fail("a scatter that accumulates");
      return Scatter{to.buffer, to.index, to.symbol_values, *op, value};
    }
    if (op) return Reduce{to.buffer, to.index, *op, value};
    return Store{to.buffer, to.index, value};
  }

  // ---- expressions ----

  static std::string shared_name(Scanner& in) {
    in.expect("%");
    return str_cat("%", in.integer());
  }

  std::vector<Expr> exprs(Scanner& in, const Shared& shared) {
    std::vector<Expr> all;
    do all.push_back(expr(in, shared));
    while (in.eat(","));
    return all;
  }

  Expr expr(Scanner& in, const Shared& shared) {
    if (in.sees("%")) {
      auto found = shared.find(shared_name(in));
      if (found == shared.end()) in.fail("a name that is defined above before here");
      return found->second;
    }
    if (in.sees_number()) return literal(in);
    Scanner ahead = in;
    const std::string_view name = ahead.word();
    if (ahead.sees("[")) {
      Access from = access(in, shared);
      return program_.pool.load(from.buffer, from.index, program_.buffers[from.buffer].type.dtype,
                                from.symbol_values);
    }
    in = ahead;
    if (name == "true" || name == "false")
      return program_.pool.integer(DType::kBool, name == "true");
    in.expect("(");
    const Expr value = call(in, name, shared);
    in.expect(")");
    return value;
  }

  Expr call(Scanner& in, std::string_view name, const Shared& shared) {
    if (name == "index") return program_.pool.index(in.sym());
    std::vector<Expr> args = exprs(in, shared);
    if (auto dtype = aten_bridge::parse_dtype(name)) {
      if (args.size() != 1) in.fail("one argument of a cast before here");
      return program_.pool.cast(*dtype, args[0]);
    }
    const auto op = parse_scalar_op(name);
    if (!op) in.fail("a buffer, dtype or scalar operator before here");
    try {
      return program_.pool.apply(*op, std::move(args));
    } catch (const aten_bridge::InternalError& e) {
      in.fail(e.what());  // the text is wrong, not the parser
    }
  }

  Expr literal(Scanner& in) {
    const std::string_view digits = in.number();
    in.expect(":");
    const auto dtype = aten_bridge::parse_dtype(in.word());
    if (!dtype || !is_computed(*dtype)) in.fail("a dtype of scalar code before here");
    const char* const end = digits.data() + digits.size();
    if (!is_floating(*dtype)) {
      int64_t value = 0;
      if (std::from_chars(digits.data(), end, value).ptr != end) in.fail("an integer before here");
      return program_.pool.integer(*dtype, value);
    }
    double value = 0;
    float single = 0;
    if (*dtype == DType::kFloat64) {
      std::from_chars(digits.data(), end, value);
    } else {
      std::from_chars(digits.data(), end, single);
      value = single;
    }
    return program_.pool.constant(*dtype, value);
  }

  std::string_view text_;
  LoopProgram program_;
  HashMap<std::string, int> ids_;
  const BufferLookup lookup_ = [this](std::string_view name) -> std::optional<int> {
    auto found = ids_.find(std::string(name));
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  };
  const BufferNames names_ = [this](int buffer) -> NamedBuffer {
    return {program_.buffers[buffer].name, &program_.buffers[buffer].type};
  };
  std::string_view outputs_at_;
  std::vector<Line> lines_;
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<LoopProgram> parse_loops(std::string_view text) {
  try {
    return Parser(text).parse();
  } catch (const SyntaxError& e) {
    return absl::InvalidArgumentError(e.message);
  }
}

}  // namespace inductor
