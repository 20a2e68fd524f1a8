#include "inductor/ir/call_text.h"

#include <charconv>
#include <cmath>

#include "absl/strings/escaping.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace inductor {

using aten_bridge::str_append;
using aten_bridge::str_cat;
using RefList = std::vector<std::optional<TensorRef>>;
using Arg = aten_bridge::ArgumentOf<TensorRef>;

namespace {

template <class Items, class Print>
std::string join(const Items& items, Print print) {
  std::string text;
  for (const auto& item : items) str_append(&text, text.empty() ? "" : ", ", print(item));
  return text;
}

std::string sym_text(const SymExpr& e) { return e.str(); }

std::string double_text(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  // An integer's text would read back as an int.
  if (std::isfinite(value) && text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

// Lists of tensors, doubles and bools name their type where they are empty.
std::string list(std::string_view type, const std::string& items) {
  return str_cat(items.empty() ? type : "", "[", items, "]");
}

struct ArgPrinter {
  const BufferNames& names;

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const TensorRef& v) const { return print(v, names); }
  std::string operator()(const RefList& v) const {
    return list("tensor", join(v, [&](const auto& ref) { return print(ref, names); }));
  }
  std::string operator()(const SymExpr& v) const { return v.str(); }
  std::string operator()(const std::vector<SymExpr>& v) const {
    return str_cat("[", join(v, sym_text), "]");
  }
  std::string operator()(double v) const { return double_text(v); }
  std::string operator()(const std::vector<double>& v) const {
    return list("double", join(v, double_text));
  }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::vector<bool>& v) const {
    return list("bool", join(v, [](bool b) { return b ? "true" : "false"; }));
  }
  std::string operator()(std::complex<double> v) const {
    return str_cat("complex(", double_text(v.real()), ", ", double_text(v.imag()), ")");
  }
  std::string operator()(const std::string& v) const {
    return str_cat("\"", absl::CEscape(v), "\"");
  }
  std::string operator()(DType v) const { return std::string(to_string(v)); }
  std::string operator()(Device v) const {
    return v.kind == Device::Kind::kCpu ? "@cpu" : str_cat("@cuda:", v.index);
  }
};

double to_double(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool is_double_text(std::string_view text) {
  return text.find_first_of(".en") != text.npos;  // 1.0, 1e5, inf, nan
}

Device parse_device(Scanner& in) {
  in.expect("@");
  if (in.eat("cpu")) return {};
  in.expect("cuda:");
  return {Device::Kind::kCuda, static_cast<int>(in.integer())};
}

class ArgParser {
 public:
  ArgParser(Scanner& in, const BufferLookup& lookup, const BufferNames& names)
      : in_(in), lookup_(lookup), names_(names) {}

  Arg parse() {
    if (in_.sees("@")) return parse_device(in_);
    if (in_.sees("\"")) return in_.quoted();
    if (in_.sees("[")) return parse_list();
    for (std::string_view type : {"tensor", "double", "bool"})
      if (in_.eat(str_cat(type, "[]"))) return empty_list(type);
    if (in_.eat("complex(")) {
      const double real = to_double(in_.number());
      in_.expect(",");
      const double imaginary = to_double(in_.number());
      in_.expect(")");
      return std::complex<double>(real, imaginary);
    }
    return parse_item();
  }

 private:
  static Arg empty_list(std::string_view type) {
    if (type == "tensor") return RefList{};
    if (type == "double") return std::vector<double>{};
    return std::vector<bool>{};
  }

  // One int, double, bool, dtype, reference or none.
  Arg parse_item() {
    if (in_.sees_number()) {
      Scanner ahead = in_;
      const std::string_view text = ahead.number();
      if (is_double_text(text)) {
        in_ = ahead;
        return to_double(text);
      }
      return in_.sym();
    }
    Scanner ahead = in_;
    const std::string_view word = ahead.word_if_any();
    if (word == "none") return in_ = ahead, Arg(std::monostate());
    if (word == "true" || word == "false") return in_ = ahead, Arg(word == "true");
    if (auto dtype = aten_bridge::parse_dtype(word)) return in_ = ahead, Arg(*dtype);
    if (!word.empty() && lookup_(word)) return *parse_ref(in_, lookup_, names_);
    return in_.sym();
  }

  // The first item that is not none tells the list's type.
  Arg parse_list() {
    std::vector<Arg> items;
    in_.expect("[");
    if (!in_.sees("]")) {
      do items.push_back(parse_item());
      while (in_.eat(","));
    }
    in_.expect("]");
    for (const Arg& item : items) {
      if (std::holds_alternative<double>(item)) return gather<double>(items);
      if (std::holds_alternative<bool>(item)) return gather<bool>(items);
      if (std::holds_alternative<SymExpr>(item)) return gather<SymExpr>(items);
    }
    if (items.empty()) return std::vector<SymExpr>{};
    RefList refs;
    for (const Arg& item : items) {
      const auto* ref = std::get_if<TensorRef>(&item);
      refs.push_back(ref ? std::optional<TensorRef>(*ref) : std::nullopt);
    }
    return refs;
  }

  template <class T>
  Arg gather(const std::vector<Arg>& items) {
    std::vector<T> values;
    for (const Arg& item : items) {
      const T* value = std::get_if<T>(&item);
      if (!value) in_.fail("items of one type before here");
      values.push_back(*value);
    }
    return values;
  }

  Scanner& in_;
  const BufferLookup& lookup_;
  const BufferNames& names_;
};

}  // namespace

TensorRef whole(int buffer, const TensorType& type) {
  return {buffer, type.sizes, type.strides, 0};
}

std::string print(const TensorRef& ref, const BufferNames& names) {
  const NamedBuffer buffer = names(ref.buffer);
  if (ref == whole(ref.buffer, *buffer.type)) return std::string(buffer.name);
  return str_cat(buffer.name, "[", join(ref.sizes, sym_text), "]{", join(ref.strides, sym_text),
                 "}", ref.offset == SymExpr(0) ? "" : " + " + ref.offset.str());
}

std::string print(const std::optional<TensorRef>& ref, const BufferNames& names) {
  return ref ? print(*ref, names) : "none";
}

std::string print(const ExternCall& call, const BufferNames& names) {
  const std::string outputs = join(call.outputs, [&](const std::optional<int>& buffer) {
    return buffer ? std::string(names(*buffer).name) : "none";
  });
  const std::string args = join(call.args, [&](const auto& arg) {
    return str_cat(arg.first, "=", std::visit(ArgPrinter{names}, arg.second));
  });
  return str_cat(outputs, outputs.empty() ? "" : " = ", call.op, "(", args, ")");
}

TensorType parse_type(Scanner& in) {
  TensorType type;
  const auto dtype = aten_bridge::parse_dtype(in.word());
  if (!dtype) in.fail("a dtype before here");
  type.dtype = *dtype;
  type.sizes = in.syms("[", "]");
  type.strides = in.sees("{") ? in.syms("{", "}") : aten_bridge::contiguous_strides(type.sizes);
  if (type.strides.size() != type.sizes.size()) in.fail("as many strides as sizes");
  if (in.sees("@")) type.device = parse_device(in);
  return type;
}

std::optional<TensorRef> parse_ref(Scanner& in, const BufferLookup& lookup,
                                   const BufferNames& names) {
  const std::string_view name = in.word();
  if (name == "none") return std::nullopt;
  const std::optional<int> buffer = lookup(name);
  if (!buffer) in.fail("a buffer's name before here");
  if (!in.sees("[")) return whole(*buffer, *names(*buffer).type);
  TensorRef ref{*buffer, in.syms("[", "]"), in.syms("{", "}"), 0};
  if (in.eat("+")) ref.offset = in.sym();
  return ref;
}

ExternCall parse_call(Scanner& in, const BufferLookup& lookup, const BufferNames& names) {
  ExternCall call;
  std::vector<std::string_view> words = {in.word()};
  while (in.eat(",")) words.push_back(in.word());
  if (in.eat("=")) {
    for (std::string_view word : words) {
      if (word != "none" && !lookup(word)) in.fail("buffers' names before '='");
      call.outputs.push_back(word == "none" ? std::nullopt : lookup(word));
    }
    words = {in.word()};
  }
  call.op = words[0];
  in.expect("(");
  if (in.eat(")")) return call;
  do {
    std::string name(in.word());
    in.expect("=");
    call.args.emplace_back(std::move(name), ArgParser(in, lookup, names).parse());
  } while (in.eat(","));
  in.expect(")");
  return call;
}

}  // namespace inductor
