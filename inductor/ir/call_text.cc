#include "inductor/ir/call_text.h"

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/argument_text.h"

namespace inductor {

using aten_bridge::join;
using aten_bridge::print_argument;
using aten_bridge::str_cat;

namespace {

std::string sym_text(const SymExpr& e) { return e.str(); }

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
    return str_cat(arg.first, "=", print_argument(arg.second, [&](const TensorRef& ref) {
                     return print(ref, names);
                   }));
  });
  return str_cat(outputs, outputs.empty() ? "" : " = ", call.op, "(", args, ")");
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
  const auto tensor = [&](Scanner& s) -> std::optional<TensorRef> {
    Scanner ahead = s;
    const std::string_view name = ahead.word_if_any();
    return lookup(name) ? parse_ref(s, lookup, names) : std::nullopt;
  };
  do {
    std::string name(in.word());
    in.expect("=");
    call.args.emplace_back(std::move(name), aten_bridge::parse_argument<TensorRef>(in, tensor));
  } while (in.eat(","));
  in.expect(")");
  return call;
}

}  // namespace inductor
