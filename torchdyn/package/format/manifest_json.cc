#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/argument_text.h"
#include "aten_bridge/graph/text.h"
#include "torchdyn/package/format/manifest.h"

namespace torchdyn {
namespace {

using aten_bridge::Scanner;
using aten_bridge::str_cat;
using Json = nlohmann::ordered_json;

// ---- Values -----------------------------------------------------------------------------------

struct Refused {
  std::string reason;
};

[[noreturn]] void refuse(std::string_view what) { throw Refused{std::string(what)}; }

std::vector<std::string> texts(const std::vector<SymExpr>& exprs) {
  std::vector<std::string> list;
  for (const SymExpr& e : exprs) list.push_back(e.str());
  return list;
}

SymExpr expr(const Json& text) {
  Scanner in(text.get_ref<const std::string&>());
  SymExpr e = in.sym();
  if (!in.at_end()) in.fail("the end");
  return e;
}

std::vector<SymExpr> exprs(const Json& list) {
  std::vector<SymExpr> read;
  for (const Json& text : list) read.push_back(expr(text));
  return read;
}

TensorType type(const Json& text) {
  Scanner in(text.get_ref<const std::string&>());
  TensorType read = aten_bridge::parse_type(in);
  if (!in.at_end()) in.fail("the end");
  return read;
}

// An index into a list of `count`, or -1 where that is allowed.
int index(const Json& number, size_t count, int least = 0) {
  if (!number.is_number_integer()) refuse("an index is no integer");
  const auto value = number.get<int64_t>();
  if (value < least || value >= static_cast<int64_t>(count))
    refuse(str_cat("no place ", value, " in a list of ", count));
  return static_cast<int>(value);
}

constexpr size_t kMost = 1 << 24;  // of anything that is counted
constexpr size_t kMostSymbols = 1 << 12;

std::string hexadecimal(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

double from_hexadecimal(const Json& text) {
  return std::strtod(text.get_ref<const std::string&>().c_str(), nullptr);
}

// JSON has no NaN: floating numbers are text, which is exact, too.
struct NumberToJson {
  Json operator()(bool b) const { return b; }
  Json operator()(int64_t i) const { return i; }
  Json operator()(double d) const { return hexadecimal(d); }
  Json operator()(std::complex<double> c) const {
    return {hexadecimal(c.real()), hexadecimal(c.imag())};
  }
};

PackagedNumber number(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_string()) return from_hexadecimal(json);
  return std::complex<double>(from_hexadecimal(json.at(0)), from_hexadecimal(json.at(1)));
}

Json pairs(const std::vector<std::pair<int, int>>& list) {
  Json json = Json::array();
  for (auto [a, b] : list) json.push_back({a, b});
  return json;
}

// ---- Parts --------------------------------------------------------------------------------------

Json to_json(const PackagedInput& input) {
  Json json = {{"name", input.name}, {"type", aten_bridge::print(input.type)}};
  if (input.argument) json["argument"] = *input.argument;
  if (input.requires_grad) json["requires_grad"] = true;
  return json;
}

PackagedInput input(const Json& json, int arguments) {
  PackagedInput read;
  read.name = json.at("name").get<std::string>();
  read.type = type(json.at("type"));
  if (json.contains("argument"))
    read.argument = index(json.at("argument"), static_cast<size_t>(arguments));
  read.requires_grad = json.value("requires_grad", false);
  return read;
}

Json to_json(const PackagedResult& result) {
  Json json = {{"kind", result.kind}, {"index", result.index}};
  if (result.kind.starts_with("view")) {
    json["sizes"] = texts(result.sizes);
    json["strides"] = texts(result.strides);
    json["offset"] = result.offset.str();
    json["detached"] = result.detached;
  }
  return json;
}

PackagedResult result(const Json& json, const PackagedVariant& variant) {
  PackagedResult read;
  read.kind = json.at("kind").get<std::string>();
  const bool is_view = read.kind.starts_with("view_of_");
  const std::string_view of = std::string_view(read.kind).substr(is_view ? 8 : 0);
  if (of == "graph")
    read.index = index(json.at("index"), static_cast<size_t>(variant.graph_results));
  else if (of == "input")
    read.index = index(json.at("index"), variant.inputs.size());
  else if (of != "undefined" || is_view)
    refuse(str_cat("a result of kind ", read.kind));
  if (!is_view) return read;
  read.sizes = exprs(json.at("sizes"));
  read.strides = exprs(json.at("strides"));
  if (read.sizes.size() != read.strides.size()) refuse("a view with other strides than sizes");
  read.offset = expr(json.at("offset"));
  read.detached = json.at("detached").get<bool>();
  return read;
}

Json to_json(const PackagedVariant& v) {
  Json json = {{"name", v.name},
               {"mode", v.trains ? "training" : "inference"},
               {"grad_mode", v.grad_mode},
               {"symbols", v.symbols},
               {"arguments", v.arguments},
               {"inputs", Json::array()},
               {"graph_results", v.graph_results},
               {"results", Json::array()}};
  for (const auto& in : v.inputs) json["inputs"].push_back(to_json(in));
  for (const auto& out : v.results) json["results"].push_back(to_json(out));
  json["mutations"] = pairs(v.mutations);
  json["assumptions"] = Json::array();
  for (const auto& a : v.assumptions)
    json["assumptions"].push_back({{"result", a.result},
                                   {"number", std::visit(NumberToJson{}, a.number)},
                                   {"raises", a.raises}});
  json["draws"] = v.draws;
  if (v.trains) {
    json["tangents"] = v.tangents;
    json["differentiable"] = v.differentiable;
    json["saved"] = pairs(v.saved);
    json["given"] = v.given;
  }
  json["extern_calls"] = v.extern_calls;
  json["guards"] = v.guards;
  return json;
}

void read_training(const Json& json, PackagedVariant& v) {
  v.tangents = index(json.at("tangents"), kMost);
  v.differentiable = json.at("differentiable").get<std::vector<bool>>();
  if (v.differentiable.size() != static_cast<size_t>(v.graph_results))
    refuse("differentiable: not one a result");
  for (const Json& pair : json.at("saved"))
    v.saved.emplace_back(index(pair.at(0), v.inputs.size(), -1), index(pair.at(1), kMost, -1));
  v.given = json.at("given").get<std::vector<bool>>();
  if (!v.given.empty() && v.given.size() != static_cast<size_t>(v.tangents))
    refuse("given: not one a tangent");
}

PackagedVariant variant(const Json& json) {
  PackagedVariant v;
  v.name = json.at("name").get<std::string>();
  const auto mode = json.at("mode").get<std::string>();
  if (mode != "training" && mode != "inference") refuse("mode: " + mode);
  v.trains = mode == "training";
  v.grad_mode = json.at("grad_mode").get<bool>();
  v.symbols = index(json.at("symbols"), kMostSymbols);
  v.arguments = index(json.at("arguments"), kMost);
  v.graph_results = index(json.at("graph_results"), kMost);
  for (const Json& in : json.at("inputs")) v.inputs.push_back(input(in, v.arguments));
  for (const Json& out : json.at("results")) v.results.push_back(result(out, v));
  const auto results = static_cast<size_t>(v.graph_results);
  for (const Json& pair : json.at("mutations"))
    v.mutations.emplace_back(index(pair.at(0), v.inputs.size()), index(pair.at(1), results));
  for (const Json& a : json.at("assumptions"))
    v.assumptions.push_back(
        {index(a.at("result"), results), number(a.at("number")), a.at("raises").get<bool>()});
  v.draws = json.at("draws").get<bool>();
  if (v.trains) read_training(json, v);
  v.extern_calls = json.at("extern_calls").get<std::vector<std::string>>();
  v.guards = json.at("guards").get<std::vector<std::string>>();
  return v;
}

Json to_json(const std::vector<PackagedVariant>& variants) {
  Json json = Json::array();
  for (const PackagedVariant& v : variants) json.push_back(to_json(v));
  return json;
}

// Of the member of a method, or the whole of a manifest, whose first method has no member.
PackagedMethod method(std::string name, const Json& json) {
  PackagedMethod read{std::move(name), json.at("structure").get<std::string>(), {}};
  for (const Json& one : json.at("variants")) read.variants.push_back(variant(one));
  return read;
}

// A state has the types of the parameter that it is of, so its name is all there is.
PackagedOptimizer optimizer(const Json& json) {
  return {json.at("text").get<std::string>(), json.at("state").get<std::vector<std::string>>()};
}

// What manifests of the first kind say alone; members that were added have defaults.
Manifest manifest(const Json& json) {
  const Json& version = json.at("manifest");
  if (version != kManifestVersion)
    refuse(str_cat("of version ", version.dump(), "; this library reads ", kManifestVersion));
  Manifest read;
  read.producer = json.at("producer").get<std::string>();
  read.torch = json.at("torch").get<std::string>();
  read.targets = {json.at("target").get<std::string>()};
  if (json.contains("targets")) read.targets = json.at("targets").get<std::vector<std::string>>();
  read.calls_sleef = json.at("calls_sleef").get<bool>();
  PackagedMethod main = method(std::string(kMainMethod), json);
  if (!main.variants.empty()) read.methods.push_back(std::move(main));
  if (json.contains("methods"))
    for (const auto& [name, one] : json.at("methods").items()) {
      if (find_method(read, name)) refuse("two methods named " + name);
      read.methods.push_back(method(name, one));
    }
  if (json.contains("optimizer")) read.optimizer = optimizer(json.at("optimizer"));
  if (read.optimizer && !find_method(read, kStepMethod)) refuse("an optimizer without a step");
  return read;
}

}  // namespace

// What can be said as before is, so that readers of that time read it.
std::string to_json(const Manifest& m) {
  const PackagedMethod* main = find_method(m, kMainMethod);
  Json json = {{"manifest", kManifestVersion},
               {"producer", m.producer},
               {"torch", m.torch},
               {"target", m.targets.empty() ? "" : m.targets[0]},
               {"calls_sleef", m.calls_sleef},
               {"structure", main ? main->structure : ""},
               {"variants", main ? to_json(main->variants) : Json::array()}};
  if (m.targets.size() > 1) json["targets"] = m.targets;
  for (const PackagedMethod& method : m.methods)
    if (&method != main)
      json["methods"][method.name] = {{"structure", method.structure},
                                      {"variants", to_json(method.variants)}};
  if (m.optimizer) json["optimizer"] = {{"text", m.optimizer->text}, {"state", m.optimizer->state}};
  return json.dump(2) + "\n";
}

absl::StatusOr<Manifest> parse_manifest(std::string_view text) {
  std::string reason;
  try {
    return manifest(Json::parse(text));
  } catch (const Json::exception& error) {
    reason = error.what();
  } catch (const aten_bridge::SyntaxError& error) {
    reason = error.message;
  } catch (const Refused& refused) {
    reason = refused.reason;
  } catch (const std::exception& error) {  // a size that overflows
    reason = error.what();
  }
  return absl::InvalidArgumentError("the manifest: " + reason);
}

}  // namespace torchdyn
