#include "tests/inductor/support/random_program.h"

#include <random>
#include <vector>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/text.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_append;
using aten_bridge::str_cat;

enum class Shape { kMatrix, kTransposed, kRows, kColumns, kScalar };  // of [A, B], A, B, none

struct Value {
  std::string name;
  Shape shape;
  std::string dtype;
  int columns = 0;  // where they are not B
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed), seed_(seed) {}

  std::string run() {
    const int sizes[] = {1, 2, 7, 8, 9, 16, 33, 64, 100, 256};
    a_ = sizes[pick(10)];
    b_ = sizes[pick(10)];
    wide_ = pick(4) == 0;
    for (int i = 0; i < 3; ++i)
      inputs_.push_back({str_cat("arg", i), Shape(pick(5)), pick(5) == 0 ? "bool" : real()});
    inputs_.push_back({"ids", Shape::kRows, "i64"});
    values_ = inputs_;
    const int steps = 3 + pick(8);
    for (int i = 0; i < steps; ++i) step();
    return text();
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string real() { return wide_ ? "f64" : "f32"; }

  std::string size_text(Shape shape, int columns = 0) const {
    if (columns == 0) columns = b_;
    switch (shape) {
      case Shape::kMatrix:
        return str_cat("[", a_, ", ", columns, "]");
      case Shape::kTransposed:
        return str_cat("[", b_, ", ", a_, "]");
      case Shape::kRows:
        return str_cat("[", a_, "]");
      case Shape::kColumns:
        return str_cat("[", columns, "]");
      case Shape::kScalar:
        return "[]";
    }
    return "";
  }

  // Row i, column j of the matrix that every shape is a part or a view of.
  std::string index(Shape shape, const std::string& i, const std::string& j) const {
    switch (shape) {
      case Shape::kMatrix:
        return str_cat(b_, "*", i, " + ", j);
      case Shape::kTransposed:
        return str_cat(a_, "*", j, " + ", i);
      case Shape::kRows:
        return i;
      case Shape::kColumns:
        return j;
      case Shape::kScalar:
        return "0";
    }
    return "";
  }

  std::string load(const Value& v, const std::string& i, const std::string& j) {
    const std::string text = str_cat(v.name, "[", index(v.shape, i, j), "]");
    return v.dtype == real() ? text : str_cat(real(), "(", text, ")");
  }

  std::string expression(std::vector<Value> from, int depth, const std::string& i,
                         const std::string& j) {
    if (depth == 0 || pick(6) == 0) {
      if (from.empty() || pick(8) == 0) return str_cat("0.5:", real());
      return load(from[from.size() - 1 - pick(std::min<int>(4, from.size()))], i, j);
    }
    const auto arg = [&] { return expression(from, depth - 1, i, j); };
    switch (pick(8)) {
      case 0:
        return str_cat("mul(", arg(), ", 0.5:", real(), ")");
      case 1:
        return str_cat("sub(", arg(), ", ", arg(), ")");
      case 2:
        return str_cat("maximum(", arg(), ", ", arg(), ")");
      case 3:
        return str_cat("select(lt(", arg(), ", ", arg(), "), ", arg(), ", ", arg(), ")");
      case 4:
        return str_cat("abs(", arg(), ")");
      case 5:
        return str_cat("mul(", real(), "(index(", i, ")), 0.25:", real(), ")");
      default:
        return str_cat("add(", arg(), ", ", arg(), ")");
    }
  }

  std::vector<Value> usable(Shape shape) const {
    std::vector<Value> found;
    for (const Value& v : values_)
      if (v.shape == shape || v.shape == Shape::kScalar ||
          (shape == Shape::kMatrix && v.shape != Shape::kMatrix))
        found.push_back(v);
    return found;
  }

  std::string store_cast(const std::string& dtype, const std::string& e) const {
    return dtype == (wide_ ? "f64" : "f32") ? e : str_cat(dtype, "(", e, ")");
  }

  Value add(Shape shape, const std::string& dtype) {
    Value v{str_cat("buf", made_.size()), shape, dtype};
    made_.push_back(v);
    return v;
  }

  void line(int depth, const std::string& s) {
    str_append(&body_, std::string(2 * depth, ' '), s, "\n");
  }
  std::string loop(int extent, bool reduction = false) {
    const std::string var = str_cat("i", next_var_++);
    line(++depth_, str_cat("for ", var, " < ", extent, reduction ? " reduction" : ""));
    return var;
  }
  void leaf(const std::string& s) {
    line(depth_ + 1, s);
    depth_ = 0;
  }

  void step() {
    switch (pick(11)) {
      case 0:
      case 1:
        return pointwise_matrix();
      case 2:
        return channels();
      case 3:
        return vector(Shape::kRows);
      case 4:
        return vector(Shape::kColumns);
      case 5:
        return reduce(Shape::kRows);
      case 6:
        return reduce(Shape::kColumns);
      case 7:
        return reduce(Shape::kScalar);
      case 8:
        return pick(2) ? gather() : concatenate();
      case 9:
        return pick(2) ? channels() : pointwise_matrix();
      default:
        return pick(3) == 0 ? scatter() : pick(2) ? flat() : swap_halves();
    }
  }

  void pointwise_matrix() {
    const std::vector<Value> from = usable(Shape::kMatrix);
    const char* const others[] = {"bf16", "f16", "bool"};
    const Value v =
        add(pick(4) ? Shape::kMatrix : Shape::kTransposed, pick(4) ? real() : others[pick(3)]);
    const std::string i = loop(a_), j = loop(b_);
    const std::string e = expression(from, 3, i, j);
    leaf(str_cat(v.name, "[", index(v.shape, i, j), "] = ", store_cast(v.dtype, e)));
    values_.push_back(v);
  }

  void vector(Shape shape) {
    const std::vector<Value> from = usable(shape);
    const Value v = add(shape, real());
    const std::string i = loop(shape == Shape::kRows ? a_ : b_);
    leaf(str_cat(v.name, "[", i, "] = ", expression(from, 2, i, i)));
    values_.push_back(v);
  }

  void reduce(Shape shape) {
    const std::vector<Value> from = usable(Shape::kMatrix);
    const Value v = add(shape, real());
    const bool rows = shape == Shape::kRows, columns = shape == Shape::kColumns;
    std::string i, j;
    if (columns) {
      j = loop(b_);
      i = loop(a_, true);
    } else {
      i = loop(a_, !rows);
      j = loop(b_, true);
    }
    const char* const op[] = {"+=", "max=", "min=", "+="};
    leaf(str_cat(v.name, "[", index(shape, i, j), "] ", op[pick(4)], " ",
                 expression(from, 2, i, j)));
    values_.push_back(v);
  }

  std::string row_number(const std::string& i) const {
    return str_cat("minimum(maximum(ids[", i, "], 0:i64), ", a_ - 1, ":i64)");
  }

  void gather() {
    std::vector<Value> tables;
    for (const Value& v : values_)
      if (v.shape == Shape::kMatrix && v.dtype == real()) tables.push_back(v);
    if (tables.empty()) return pointwise_matrix();
    const Value table = tables[pick(tables.size())], v = add(Shape::kMatrix, real());
    const std::string i = loop(a_), j = loop(b_);
    leaf(str_cat(v.name, "[", index(v.shape, i, j), "] = ", table.name, "[", b_, "*t0 + ", j, "; ",
                 row_number(i), "]"));
    values_.push_back(v);
  }

  void scatter() {
    const std::vector<Value> from = usable(Shape::kMatrix);
    const Value v = add(Shape::kMatrix, real());
    const std::string n = loop(a_ * b_);
    leaf(str_cat(v.name, "[", n, "] = 0.0:", real()));
    const std::string i = loop(a_, true), j = loop(b_);
    leaf(str_cat(v.name, "[", b_, "*t0 + ", j, "; ", row_number(i),
                 "] += ", expression(from, 1, i, j)));
    values_.push_back(v);
  }

  // A matrix as one loop.
  void flat() {
    std::vector<Value> from;
    for (Value v : values_)
      if (v.shape == Shape::kMatrix && v.dtype == real()) {
        from.push_back(v);
        from.back().shape = Shape::kRows;
      }
    const Value v = add(Shape::kMatrix, real());
    const std::string n = loop(a_ * b_);
    leaf(str_cat(v.name, "[", n, "] = ", expression(from, 2, n, n)));
    values_.push_back(v);
  }

  // Two matrices side by side, then their columns' sums.
  void concatenate() {
    const std::vector<Value> from = usable(Shape::kMatrix);
    const Value v = add(Shape::kMatrix, real()), sum = add(Shape::kColumns, real());
    made_[made_.size() - 2].columns = made_.back().columns = 2 * b_;
    for (int half = 0; half < 2; ++half) {
      const std::string i = loop(a_), j = loop(b_);
      leaf(str_cat(v.name, "[", 2 * b_, "*", i, " + ", j, " + ", half * b_,
                   "] = ", expression(from, 2, i, j)));
    }
    const std::string j = loop(2 * b_), i = loop(a_, true);
    leaf(str_cat(sum.name, "[", j, "] += ", v.name, "[", 2 * b_, "*", i, " + ", j, "]"));
  }

  // [A, 2, B / 2] stored as [2, A, B / 2].
  void swap_halves() {
    std::vector<Value> from;
    for (const Value& v : values_)
      if (v.shape == Shape::kMatrix && v.dtype == real()) from.push_back(v);
    if (from.empty() || b_ % 2 != 0) return pointwise_matrix();
    const Value v = add(Shape::kMatrix, real());
    const std::string i = loop(a_), half = loop(2), j = loop(b_ / 2);
    leaf(str_cat(v.name, "[", a_ * b_ / 2, "*", half, " + ", b_ / 2, "*", i, " + ", j, "] = abs(",
                 from[pick(from.size())].name, "[", b_, "*", i, " + ", b_ / 2, "*", half, " + ", j,
                 "])"));
    values_.push_back(v);
  }

  // Sums over the rows and the elements of each channel, as a batch norm takes them; then what
  // remains without them.
  void channels() {
    std::vector<Value> from;
    for (const Value& v : values_)
      if (v.shape == Shape::kMatrix && v.dtype == real()) from.push_back(v);
    const int count = b_ % 8 == 0 && pick(2) ? 8 : 2, inner = b_ / count;
    if (from.empty() || b_ % count != 0) return pointwise_matrix();
    const Value x = from[pick(from.size())], sum = add(Shape::kColumns, real());
    made_.back().columns = count;
    const Value v = add(Shape::kMatrix, real());
    const bool middle = pick(2) == 0;
    const std::string first = middle ? loop(a_, true) : "", c = loop(count);
    const std::string i = middle ? first : loop(a_, true), k = loop(inner, true);
    const auto place = [&](const std::string& row, const std::string& channel,
                           const std::string& at) {
      return str_cat("[", b_, "*", row, " + ", inner, "*", channel, " + ", at, "]");
    };
    leaf(str_cat(sum.name, "[", c, "] += ", x.name, place(i, c, k)));
    const std::string row = loop(a_), channel = loop(count), at = loop(inner);
    leaf(str_cat(v.name, place(row, channel, at), " = sub(", x.name, place(row, channel, at), ", ",
                 sum.name, "[", channel, "])"));
    values_.push_back(v);
  }

  std::string text() {
    std::string head = str_cat("loops 1 random", seed_, "("), outputs, declarations;
    for (size_t i = 0; i < inputs_.size(); ++i)
      str_append(&head, i ? ", " : "", inputs_[i].name, ": ", inputs_[i].dtype,
                 size_text(inputs_[i].shape));
    for (size_t i = 0; i < made_.size(); ++i) {
      const bool output = i + 1 == made_.size() || pick(3) == 0;
      if (output) str_append(&outputs, outputs.empty() ? "" : ", ", made_[i].name);
      str_append(&declarations, "  ", made_[i].name, ": ", made_[i].dtype,
                 size_text(made_[i].shape, made_[i].columns), output ? " output" : "", "\n");
    }
    return str_cat(head, ") -> ", outputs, " {\n", declarations, body_, "}\n");
  }

  std::mt19937 random_;
  unsigned seed_;
  int a_ = 1, b_ = 1;
  bool wide_ = false;
  std::vector<Value> inputs_, values_, made_;
  std::string body_;
  int next_var_ = 0, depth_ = 0;
};

}  // namespace

std::string random_program_text(unsigned seed) { return Generator(seed).run(); }

LoopProgram random_program(unsigned seed) {
  const std::string text = random_program_text(seed);
  auto program = parse_loops(text);
  TD_CHECK(program.ok(), program.status().ToString(), "\n", text);
  const absl::Status status = verify(*program);
  TD_CHECK(status.ok(), status.ToString(), "\n", text);
  return std::move(*program);
}

}  // namespace inductor::testing
