#include "torchdyn/package/format/manifest.h"

#include <cmath>

#include <gtest/gtest.h>

namespace torchdyn {
namespace {

using aten_bridge::Device;
using aten_bridge::DType;

TensorType float32(std::vector<SymExpr> sizes, std::vector<SymExpr> strides) {
  return {DType::kFloat32, Device{}, std::move(sizes), std::move(strides)};
}

Manifest example() {
  PackagedVariant v;
  v.name = "0";
  v.trains = v.grad_mode = v.draws = true;
  v.arguments = 1;
  v.inputs = {{"arg0", float32({2, 3}, {3, 1}), 0, false},
              {"fc.weight", float32({4, 3}, {1, 4}), std::nullopt, true}};
  v.graph_results = 2;
  v.results = {{.kind = "graph", .index = 0},
               {.kind = "view_of_input", .index = 1, .sizes = {3}, .strides = {4}, .offset = 1},
               {.kind = "undefined"}};
  v.mutations = {{1, 1}};
  v.assumptions = {{1, int64_t{3}, true}, {0, std::nan(""), false}};
  v.tangents = 1;
  v.differentiable = {true, false};
  v.saved = {{0, -1}, {-1, 2}};
  v.given = {true};
  v.extern_calls = {"aten::mm"};
  v.guards = {"grad mode is on"};
  return {"torchdyn 0.1.0", "2.11.0", {"x86-64-v3"}, true, {{"forward", "a list", {v}}}, {}};
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Manifest, RoundTrips) {
  const std::string text = to_json(example());
  const auto read = parse_manifest(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(to_json(*read), text);
  const PackagedVariant& v = read->methods.at(0).variants.at(0);
  EXPECT_EQ(v.inputs[1].type.strides[1], SymExpr(4));
  EXPECT_FALSE(v.inputs[1].argument);
  EXPECT_TRUE(std::isnan(std::get<double>(v.assumptions[1].number)));
}

TEST(Manifest, IgnoresMembersThatItDoesNotKnow) {
  const std::string text = replaced(to_json(example()), "{", R"({"later": [1, {"a": null}],)");
  EXPECT_TRUE(parse_manifest(text).ok());
}

TEST(Manifest, KeepsMethodsTargetsAndAnOptimizer) {
  Manifest manifest = example();
  manifest.targets.emplace_back("x86-64");
  manifest.methods.push_back({"step", "", {manifest.methods[0].variants[0]}});
  manifest.optimizer = PackagedOptimizer{"sgd lr=0.1", {"momentum_buffer"}};
  const auto read = parse_manifest(to_json(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(to_json(*read), to_json(manifest));
  EXPECT_EQ(read->targets, manifest.targets);
  EXPECT_TRUE(find_method(*read, "step"));
  EXPECT_EQ(no_method(*read, "decode"), "the package has no method decode; it has forward, step");
  EXPECT_EQ(read->optimizer->state, manifest.optimizer->state);
}

TEST(Manifest, RefusesMethodsThatDoNotFit) {
  const std::string text = to_json(example());
  const std::string method = R"({"structure": "", "variants": []})";
  EXPECT_TRUE(
      parse_manifest(replaced(text, "{", R"({"methods": {"encode": )" + method + "},")).ok());
  EXPECT_EQ(parse_manifest(replaced(text, "{", R"({"methods": {"forward": )" + method + "},"))
                .status()
                .message(),
            "the manifest: two methods named forward");
  EXPECT_EQ(parse_manifest(replaced(text, "{", R"({"optimizer": {"text": "sgd", "state": []},)"))
                .status()
                .message(),
            "the manifest: an optimizer without a step");
}

TEST(Manifest, RefusesAnotherVersion) {
  const std::string text = replaced(to_json(example()), R"("manifest": 1)", R"("manifest": 2)");
  EXPECT_EQ(parse_manifest(text).status().message(),
            "the manifest: of version 2; this library reads 1");
}

TEST(Manifest, RefusesIndicesOutsideTheirLists) {
  const std::string text = to_json(example());
  for (const auto& [what, by] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"("argument": 0)", R"("argument": 1)"},
           {R"("argument": 0)", R"("argument": -1)"},
           {R"("argument": 0)", R"("argument": 0.5)"},
           {R"("arguments": 1)", R"("arguments": 1e9)"},
           {R"("index": 1)", R"("index": 2)"},
           {R"("result": 1)", R"("result": 99999999999)"},
           {R"("graph_results": 2)", R"("graph_results": 1)"}})
    EXPECT_FALSE(parse_manifest(replaced(text, what, by)).ok()) << by;
}

TEST(Manifest, RefusesWhatIsNone) {
  for (const std::string text :
       {"", "{", "null", "[]", R"({"manifest": 1})", R"({"manifest": {}})", "\xff\xfe"})
    EXPECT_FALSE(parse_manifest(text).ok()) << text;
  const std::string text = to_json(example());
  EXPECT_FALSE(parse_manifest(replaced(text, "f32[2, 3]", "f32[2, 3")).ok());
  EXPECT_FALSE(parse_manifest(replaced(text, "f32[2, 3]", "f32[99999999999999999999]")).ok());
  EXPECT_FALSE(parse_manifest(replaced(text, "view_of_input", "view_of_undefined")).ok());
}

TEST(Manifest, ChecksInputsAndNamesThem) {
  const PackagedInput input = example().methods[0].variants[0].inputs[0];
  EXPECT_TRUE(check_input(input, float32({2, 3}, {3, 1})));
  EXPECT_EQ(check_input(input, float32({2, 4}, {4, 1})).reason(),
            "input 0 (arg0): expected f32[2, 3], given f32[2, 4]");
  EXPECT_EQ(check_input(input, float32({2, 3}, {1, 2})).reason(),
            "input 0 (arg0): expected f32[2, 3], given f32[2, 3]{1, 2}");
  EXPECT_EQ(check_input(input, float32({6}, {1})).reason(),
            "input 0 (arg0): expected f32[2, 3], given f32[6]");
  TensorType other = float32({2, 3}, {3, 1});
  other.dtype = DType::kFloat64;
  EXPECT_FALSE(check_input(input, other));
}

TEST(Manifest, LooksAtNoStrideThatSaysNothing) {
  const PackagedInput one = {"x", float32({1, 3}, {3, 1}), 0};
  EXPECT_TRUE(check_input(one, float32({1, 3}, {77, 1})));
  const PackagedInput empty = {"x", float32({0, 3}, {3, 1}), 0};
  EXPECT_TRUE(check_input(empty, float32({0, 3}, {1, 1})));
}

TEST(Manifest, ReadsSizesThatVaryFromArguments) {
  const SymExpr s0 = SymExpr::symbol({'s', 0});
  PackagedVariant v;
  v.symbols = 1;
  v.arguments = 2;
  v.inputs = {{"x", float32({s0, 3}, {3, 1}), 0}, {"y", float32({s0 * 2}, {1}), 1}};
  std::vector<int64_t> symbols;
  EXPECT_TRUE(check_arguments(v, {float32({5, 3}, {3, 1}), float32({10}, {1})}, symbols));
  EXPECT_EQ(symbols, std::vector<int64_t>{5});
  EXPECT_EQ(check_arguments(v, {float32({5, 3}, {3, 1}), float32({9}, {1})}, symbols).reason(),
            "input 1 (y): expected f32[10], given f32[9]");
  EXPECT_EQ(check_arguments(v, {float32({1, 3}, {3, 1}), float32({2}, {1})}, symbols).reason(),
            "size s0 is 1, and must be 2 or more");
  EXPECT_EQ(check_arguments(v, {float32({}, {}), float32({2}, {1})}, symbols).reason(),
            "no argument has the size s0");
  EXPECT_EQ(check_arguments(v, {float32({5, 3}, {3, 1})}, symbols).reason(),
            "expected 2 tensors, given 1");
}

}  // namespace
}  // namespace torchdyn
