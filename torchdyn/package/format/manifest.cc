#include "torchdyn/package/format/manifest.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace torchdyn {

using aten_bridge::str_cat;

const PackagedMethod* find_method(const Manifest& manifest, std::string_view name) {
  for (const PackagedMethod& method : manifest.methods)
    if (method.name == name) return &method;
  return nullptr;
}

std::string no_method(const Manifest& manifest, std::string_view name) {
  return str_cat("the package has no method ", name, "; it has ",
                 aten_bridge::join(manifest.methods, [](const auto& m) { return m.name; }));
}

std::string kernels_section(std::string_view target) { return str_cat("kernels/", target); }

std::string section_name(const PackagedVariant& variant, std::string_view graph,
                         std::string_view what) {
  return str_cat(variant.name, "/", graph, ".", what);
}

namespace {

bool same_layout(const TensorType& a, const TensorType& b) {
  if (std::any_of(a.sizes.begin(), a.sizes.end(), [](const SymExpr& e) { return e == 0; }))
    return true;
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

}  // namespace

Verdict check_input(const PackagedInput& input, const TensorType& given) {
  const TensorType& expected = input.type;
  if (given.dtype == expected.dtype && given.device == expected.device &&
      given.sizes == expected.sizes && same_layout(expected, given))
    return Verdict::yes();
  const std::string place = input.argument ? str_cat(*input.argument, " (", input.name, ")")
                                           : str_cat("'", input.name, "'");
  return Verdict::no(str_cat("input ", place, ": expected ", aten_bridge::print(expected),
                             ", given ", aten_bridge::print(given)));
}

SymExpr at_sizes(const SymExpr& e, const std::vector<int64_t>& symbols) {
  if (e.is_constant()) return e;
  aten_bridge::SymbolMap map;
  for (size_t s = 0; s < symbols.size(); ++s) map[{'s', static_cast<int32_t>(s)}] = symbols[s];
  return e.substitute(map);
}

std::vector<SymExpr> at_sizes(std::vector<SymExpr> exprs, const std::vector<int64_t>& symbols) {
  for (SymExpr& e : exprs) e = at_sizes(e, symbols);
  return exprs;
}

TensorType at_sizes(TensorType type, const std::vector<int64_t>& symbols) {
  type.sizes = at_sizes(std::move(type.sizes), symbols);
  type.strides = at_sizes(std::move(type.strides), symbols);
  return type;
}

Verdict check_arguments(const PackagedVariant& v, const std::vector<TensorType>& given,
                        std::vector<int64_t>& symbols) {
  if (given.size() != static_cast<size_t>(v.arguments))
    return Verdict::no(str_cat("expected ", v.arguments, " tensors, given ", given.size()));
  constexpr int64_t kUnknown = -1, kLeast = 2;  // 0 and 1 would be another program
  symbols.assign(static_cast<size_t>(v.symbols), kUnknown);
  for (const PackagedInput& input : v.inputs) {
    if (!input.argument || v.symbols == 0) continue;
    const TensorType& type = given[*input.argument];
    for (size_t d = 0; d < std::min(type.sizes.size(), input.type.sizes.size()); ++d) {
      const auto symbol = input.type.sizes[d].as_symbol();
      if (symbol && symbol->index >= 0 && symbol->index < v.symbols &&
          symbols[symbol->index] == kUnknown)
        symbols[symbol->index] = type.sizes[d].as_constant();
    }
  }
  for (size_t s = 0; s < symbols.size(); ++s)
    if (symbols[s] < kLeast)
      return Verdict::no(symbols[s] == kUnknown
                             ? str_cat("no argument has the size s", s)
                             : str_cat("size s", s, " is ", symbols[s], ", and must be 2 or more"));
  for (PackagedInput input : v.inputs) {
    if (!input.argument) continue;
    input.type = at_sizes(std::move(input.type), symbols);
    if (auto fits = check_input(input, given[*input.argument]); !fits) return fits;
  }
  return Verdict::yes();
}

}  // namespace torchdyn
