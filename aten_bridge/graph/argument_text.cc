#include "aten_bridge/graph/argument_text.h"

#include <charconv>
#include <cmath>

#include "absl/strings/escaping.h"

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

using internal::TensorIndex;
using internal::TensorText;

std::string print_size(const SymExpr& e) { return e.str(); }

// The shortest text that reads back as the same double, and not as an integer.
std::string print_double(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  if (std::isfinite(value) && text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

// Lists of tensors, doubles and bools name their type where they are empty.
std::string list(std::string_view type, const std::string& items) {
  return str_cat(items.empty() ? type : "", "[", items, "]");
}

struct Printer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const TensorText& v) const { return v.text; }
  std::string operator()(const std::vector<std::optional<TensorText>>& v) const {
    return list("tensor", join(v, [](const auto& t) { return t ? t->text : "none"; }));
  }
  std::string operator()(const SymExpr& v) const { return v.str(); }
  std::string operator()(const std::vector<SymExpr>& v) const {
    return str_cat("[", join(v, print_size), "]");
  }
  std::string operator()(double v) const { return print_double(v); }
  std::string operator()(const std::vector<double>& v) const {
    return list("double", join(v, print_double));
  }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::vector<bool>& v) const {
    return list("bool", join(v, [](bool b) { return b ? "true" : "false"; }));
  }
  std::string operator()(std::complex<double> v) const {
    return str_cat("complex(", print_double(v.real()), ", ", print_double(v.imag()), ")");
  }
  std::string operator()(const std::string& v) const {
    return str_cat("\"", absl::CEscape(v), "\"");
  }
  std::string operator()(DType v) const { return std::string(to_string(v)); }
  std::string operator()(Device v) const {
    return v.kind == Device::Kind::kCpu ? "@cpu" : str_cat("@cuda:", v.index);
  }
};

double parse_double(Scanner& in) {
  const std::string_view text = in.number();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    in.refuse(str_cat(text, " is no double"));
  return value;
}

Device parse_device(Scanner& in) {
  in.expect("@");
  if (in.eat_word("cpu")) return {};
  in.expect("cuda:");
  const int64_t index = in.integer();
  if (index < 0 || index > 1000) in.refuse(str_cat("there is no device ", index));
  return {Device::Kind::kCuda, static_cast<int>(index)};
}

class Parser {
 public:
  using Argument = ArgumentOf<TensorIndex>;
  Parser(Scanner& in, const std::function<bool(Scanner&)>& tensor) : in_(in), tensor_(tensor) {}

  Argument argument() {
    if (in_.sees("@")) return parse_device(in_);
    if (in_.sees("\"")) return in_.quoted();
    if (in_.eat("[")) return list();
    if (in_.eat("tensor[]")) return std::vector<std::optional<TensorIndex>>();
    if (in_.eat("double[]")) return std::vector<double>();
    if (in_.eat("bool[]")) return std::vector<bool>();
    if (in_.eat("complex(")) return complex();
    return item();
  }

 private:
  // What a list can hold, dtypes aside.
  Argument item() {
    if (in_.sees_number()) {
      Scanner ahead = in_;
      const bool is_double = ahead.number().find_first_of(".en") != std::string_view::npos;
      return is_double ? Argument(parse_double(in_)) : Argument(in_.sym());
    }
    if (tensor_(in_)) return TensorIndex{tensors_++};
    if (in_.eat_word("none")) return std::monostate();
    if (in_.eat_word("true")) return true;
    if (in_.eat_word("false")) return false;
    Scanner ahead = in_;
    if (const auto dtype = parse_dtype(ahead.word_if_any())) {
      in_ = ahead;
      return *dtype;
    }
    return in_.sym();
  }

  Argument complex() {
    const double real = parse_double(in_);
    in_.expect(",");
    const double imaginary = parse_double(in_);
    in_.expect(")");
    return std::complex<double>(real, imaginary);
  }

  // Of the kind that its items have; none stands among tensors only.
  Argument list() {
    std::vector<Argument> items;
    if (in_.eat("]")) return std::vector<SymExpr>();
    do items.push_back(item());
    while (in_.eat(","));
    in_.expect("]");
    if (auto all = gather<SymExpr>(items)) return *all;
    if (auto all = gather<double>(items)) return *all;
    if (auto all = gather<bool>(items)) return *all;
    std::vector<std::optional<TensorIndex>> tensors;
    for (const Argument& item : items) {
      const auto* tensor = std::get_if<TensorIndex>(&item);
      if (!tensor && !std::holds_alternative<std::monostate>(item))
        in_.refuse("a list's items must all be tensors, integers, doubles or bools");
      tensors.push_back(tensor ? std::optional(*tensor) : std::nullopt);
    }
    return tensors;
  }

  template <class Item>
  static std::optional<std::vector<Item>> gather(const std::vector<Argument>& items) {
    std::vector<Item> all;
    for (const Argument& item : items) {
      if (!std::holds_alternative<Item>(item)) return std::nullopt;
      all.push_back(std::get<Item>(item));
    }
    return all;
  }

  Scanner& in_;
  const std::function<bool(Scanner&)>& tensor_;
  size_t tensors_ = 0;
};

}  // namespace

std::string internal::print_argument(const ArgumentOf<TensorText>& argument) {
  return std::visit(Printer(), argument);
}

ArgumentOf<TensorIndex> internal::parse_argument(Scanner& in,
                                                 const std::function<bool(Scanner&)>& tensor) {
  return Parser(in, tensor).argument();
}

std::string print(const TensorType& type) {
  std::string text = str_cat(to_string(type.dtype), "[", join(type.sizes, print_size), "]");
  if (type.strides != contiguous_strides(type.sizes))
    str_append(&text, "{", join(type.strides, print_size), "}");
  return type.device == Device() ? text : text + Printer()(type.device);
}

TensorType parse_type(Scanner& in) {
  TensorType type;
  Scanner ahead = in;
  const std::optional<DType> dtype = parse_dtype(ahead.word_if_any());
  if (!dtype) in.fail("a type such as f32[8, 4]");
  in = ahead;
  type.dtype = *dtype;
  type.sizes = in.syms("[", "]");
  type.strides = in.sees("{") ? in.syms("{", "}") : contiguous_strides(type.sizes);
  if (type.strides.size() != type.sizes.size()) in.refuse("sizes and strides differ in number");
  if (in.sees("@")) type.device = parse_device(in);
  return type;
}

}  // namespace aten_bridge
