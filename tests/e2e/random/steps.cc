// The kinds of steps: each writes one call of an operator of its family, or a few.
#include <algorithm>
#include <iterator>
#include <numeric>

#include <ATen/ATen.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/convert.h"
#include "tests/e2e/random/generate.h"

namespace torchdyn::testing {
namespace {

using aten_bridge::ArgumentValue;
using aten_bridge::DType;
using aten_bridge::str_cat;
using aten_bridge::SymExpr;
using aten_bridge::Value;
using G = Generator;
using Item = Generator::Item;
using Names = std::string_view;

std::string aten(Names name) { return str_cat("aten::", name); }

SymExpr integer(int64_t value) { return SymExpr(value); }

std::vector<SymExpr> integers(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

std::vector<std::optional<Value>> values(const std::vector<Item>& items) {
  std::vector<std::optional<Value>> all;
  for (const Item& item : items) all.push_back(item.value);
  return all;
}

int64_t rank(const Item& item) { return item.tensor.dim(); }
bool has_dims(const Item& item) { return rank(item) > 0; }
bool is_matrix(const Item& item) { return is_floating(item) && rank(item) == 2; }
bool is_image(const Item& item) {
  return is_floating(item) && rank(item) == 4 && item.tensor.size(2) > 2 && item.tensor.size(3) > 2;
}
bool floats_with_dims(const Item& item) { return is_floating(item) && has_dims(item); }
bool numbers_with_dims(const Item& item) { return !is_bool(item) && has_dims(item); }
bool is_small(const Item& item) { return has_dims(item) && item.tensor.numel() <= 4096; }
bool is_number(const Item& item) { return !is_bool(item); }
bool is_whole(const Item& item) { return !is_floating(item); }

// ---- Pointwise ----------------------------------------------------------------------------------

void smooth(G& g) {
  constexpr Names kAnywhere[] = {
      "exp",      "sin",   "cos",   "tanh", "sigmoid",     "erf",         "atan",      "silu",
      "mish",     "asinh", "expm1", "gelu", "hardswish",   "square",      "exp2",      "sinh",
      "softplus", "elu",   "celu",  "selu", "hardsigmoid", "log_sigmoid", "leaky_relu"};
  constexpr Names kPositive[] = {"log", "sqrt", "rsqrt", "log1p", "log2", "reciprocal", "digamma"};
  Item x = g.pick(is_floating);
  if (g.chance(70)) return g.call(aten(g.one_of(kAnywhere)), {{"self", x.value}});
  if (g.chance(80)) x = g.call_for("aten::abs", {{"self", x.value}});
  g.call(aten(g.one_of(kPositive)), {{"self", x.value}});
}

void unrounded(G& g) {
  constexpr Names kNames[] = {"neg", "abs", "relu", "clone", "contiguous"};
  g.call(aten(g.one_of(kNames)), {{"self", g.pick(is_number).value}});
}

void deciding(G& g) {
  constexpr Names kNames[] = {"sign",  "floor", "ceil",     "round",
                              "trunc", "isnan", "isfinite", "logical_not"};
  g.call(aten(g.one_of(kNames)), {{"self", g.pick_exact(is_any).value}});
}

void bits(G& g) {
  constexpr Names kNames[] = {"bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor"};
  const Item x = g.pick(is_whole);
  g.call(aten(g.one_of(kNames)), {{"self", x.value}, {"other", g.partner(x).value}});
}

void binary(G& g) {
  constexpr Names kNames[] = {"mul.Tensor", "div.Tensor",   "atan2",     "hypot", "logaddexp",
                              "maximum",    "minimum",      "fmax",      "fmin",  "copysign.Tensor",
                              "mul.Tensor", "xlogy.Tensor", "mul.Tensor"};
  constexpr Names kScaled[] = {"add.Tensor", "sub.Tensor"};
  const Item x = g.pick(is_any), y = g.partner(x);
  if (g.chance(50)) return g.call(aten(g.one_of(kNames)), {{"self", x.value}, {"other", y.value}});
  const int64_t alpha = g.chance(70) ? 1 : g.below(4) - 1;
  g.call(aten(g.one_of(kScaled)),
         {{"self", x.value}, {"other", y.value}, {"alpha", integer(alpha)}});
}

void scalar(G& g) {
  constexpr Names kNames[] = {"add.Scalar", "mul.Scalar", "sub.Scalar", "div.Scalar",
                              "rsub.Scalar"};
  const Item x = g.pick(is_any);
  if (g.chance(20)) {
    constexpr double kExponents[] = {2, 3, 0.5, -1, -0.5, 1, 0, 1.5};
    return g.call("aten::pow.Tensor_Scalar",
                  {{"self", x.value}, {"exponent", g.one_of(kExponents)}});
  }
  const ArgumentValue other =
      g.chance(50) ? ArgumentValue(g.number()) : ArgumentValue(integer(g.below(5) - 1));
  g.call(aten(g.one_of(kNames)), {{"self", x.value}, {"other", other}});
}

void comparing(G& g) {
  constexpr Names kNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  constexpr Names kWhole[] = {"remainder.Tensor", "fmod.Tensor", "floor_divide"};
  const Item x = g.pick_exact(is_any);
  if (g.chance(50))
    return g.call(aten(g.one_of(kNames)) + ".Scalar", {{"self", x.value}, {"other", g.number()}});
  const Item y = g.partner(x);
  TORCH_CHECK(g.is_exact(y), "rounded");
  const std::string name =
      g.chance(75) ? str_cat(g.one_of(kNames), ".Tensor") : std::string(g.one_of(kWhole));
  g.call(aten(name), {{"self", x.value}, {"other", y.value}});
}

void choosing(G& g) {
  const Item x = g.pick(is_any), y = g.partner(x);
  const Item condition =
      g.chance(50) ? g.pick_exact(is_bool) : g.input('x', DType::kBool, x.tensor.sizes().vec());
  switch (g.below(3)) {
    case 0:
      return g.call("aten::where.self",
                    {{"condition", condition.value}, {"self", x.value}, {"other", y.value}});
    case 1:
      return g.call("aten::masked_fill.Scalar",
                    {{"self", x.value}, {"mask", condition.value}, {"value", g.number()}});
    default:
      return g.call("aten::clamp", {{"self", x.value},
                                    {"min", -0.5},
                                    {"max", g.chance(50) ? ArgumentValue(1.5) : ArgumentValue()}});
  }
}

void ternary(G& g) {
  const Item x = g.pick(is_floating), y = g.partner(x), z = g.partner(x);
  switch (g.below(3)) {
    case 0:
      return g.call(
          "aten::addcmul",
          {{"self", x.value}, {"tensor1", y.value}, {"tensor2", z.value}, {"value", 0.5}});
    case 1:
      return g.call("aten::addcdiv",
                    {{"self", x.value}, {"tensor1", y.value}, {"tensor2", z.value}});
    default:
      return g.call("aten::lerp.Scalar", {{"self", x.value}, {"end", y.value}, {"weight", 0.25}});
  }
}

void cast(G& g) {
  constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16};
  constexpr DType kWhole[] = {DType::kInt64, DType::kInt32, DType::kBool};
  const bool to_float = g.chance(70);
  const Item x = to_float ? g.pick(is_any) : g.pick_exact(is_any);
  TORCH_CHECK(to_float || !is_floating(x) || x.tensor.isfinite().all().item<bool>(), "no integer");
  g.call("aten::to.dtype",
         {{"self", x.value}, {"dtype", to_float ? g.one_of(kFloats) : g.one_of(kWhole)}});
}

// ---- Reductions and scans -----------------------------------------------------------------------

// One dimension, several, or all.
std::vector<SymExpr> some_dims(G& g, const Item& x) {
  std::vector<SymExpr> dims;
  if (g.chance(40)) return {g.dim_of(x)};
  for (int64_t d = 0; d < rank(x); ++d)
    if (g.chance(60)) dims.push_back(d);
  return dims;
}

void reduce(G& g) {
  constexpr Names kNames[] = {"sum.dim_IntList", "mean.dim",  "amax",           "amin",
                              "sum.dim_IntList", "logsumexp", "var.correction", "std.correction"};
  const Item x = g.pick(floats_with_dims);
  const std::string name(g.one_of(kNames));
  std::vector<SymExpr> dims = some_dims(g, x);
  if (dims.empty() && name == "logsumexp") dims.push_back(0);
  g.call(aten(name), {{"self", x.value}, {"dim", dims}, {"keepdim", g.chance(50)}});
}

void reduce_numbers(G& g) {
  constexpr Names kNames[] = {"sum.dim_IntList", "amax",    "amin",
                              "any.dim",         "all.dim", "prod.dim_int"};
  const Item x = g.pick(is_small);
  const std::string name(g.one_of(kNames));
  const bool takes_list = name == "sum.dim_IntList" || name.starts_with("am");
  const int64_t dim = g.dim_of(x);
  if (name.starts_with("a") && !takes_list) TORCH_CHECK(g.is_exact(x), "rounded");
  g.call(aten(name), {{"self", x.value},
                      {"dim", takes_list ? ArgumentValue(std::vector<SymExpr>{dim})
                                         : ArgumentValue(integer(dim))},
                      {"keepdim", g.chance(50)}});
}

void reduce_all(G& g) {
  constexpr Names kNames[] = {"sum", "mean", "max", "min", "norm.Scalar", "std"};
  g.call(aten(g.one_of(kNames)), {{"self", g.pick(floats_with_dims).value}});
}

void places(G& g) {
  constexpr Names kNames[] = {"argmax", "argmin", "max.dim", "min.dim", "cummax"};
  const Item x = g.pick_exact(numbers_with_dims);
  const std::string name(g.one_of(kNames));
  std::vector<aten_bridge::Argument> args{{"self", x.value}, {"dim", integer(g.dim_of(x))}};
  if (name != "cummax") args.push_back({"keepdim", g.chance(50)});
  g.call(aten(name), std::move(args));
}

void scan(G& g) {
  constexpr Names kNames[] = {"cumsum", "cumprod", "logcumsumexp", "cumsum"};
  const Item x = g.pick(floats_with_dims);
  g.call(aten(g.one_of(kNames)), {{"self", x.value}, {"dim", integer(g.dim_of(x))}});
}

// ---- Views and copies ---------------------------------------------------------------------------

void view(G& g) {
  const Item x = g.pick(has_dims);
  const int64_t dim = g.dim_of(x), size = x.tensor.size(dim);
  const Value self = x.value;
  switch (g.below(12)) {
    case 0:
      return g.call("aten::transpose.int",
                    {{"self", self}, {"dim0", integer(dim)}, {"dim1", integer(g.dim_of(x))}});
    case 1: {
      std::vector<int64_t> order(static_cast<size_t>(rank(x)));
      std::iota(order.begin(), order.end(), 0);
      for (size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<size_t>(g.below(static_cast<int64_t>(i)))]);
      return g.call("aten::permute", {{"self", self}, {"dims", integers(order)}});
    }
    case 2:
      return g.call("aten::unsqueeze", {{"self", self}, {"dim", integer(dim)}});
    case 3:
      return g.call("aten::squeeze.dim", {{"self", self}, {"dim", integer(dim)}});
    case 4:
    case 5: {
      const int64_t start = g.below(size + 1) - (g.chance(30) ? size : 0), step = 1 + g.below(3);
      return g.call("aten::slice.Tensor", {{"self", self},
                                           {"dim", integer(dim)},
                                           {"start", integer(start)},
                                           {"end", integer(g.below(size + 2))},
                                           {"step", integer(step)}});
    }
    case 6:
      return g.call("aten::select.int",
                    {{"self", self}, {"dim", integer(dim)}, {"index", integer(g.below(size))}});
    case 7: {
      std::vector<int64_t> sizes = x.tensor.sizes().vec();
      for (int64_t& s : sizes)
        if (s == 1) s = 1 + g.below(8);
      if (g.chance(50)) sizes.insert(sizes.begin(), 1 + g.below(4));
      return g.call("aten::expand", {{"self", self}, {"size", integers(sizes)}});
    }
    case 8:
      return g.call("aten::reshape", {{"self", self}, {"shape", integers({-1, size})}});
    case 9:
      return g.call("aten::flatten.using_ints", {{"self", self}});
    case 10:
      return g.call("aten::unfold", {{"self", self},
                                     {"dimension", integer(dim)},
                                     {"size", integer(1 + g.below(3))},
                                     {"step", integer(1 + g.below(3))}});
    default:
      return g.call("aten::diagonal", {{"self", self}, {"offset", integer(g.below(3) - 1)}});
  }
}

void parts(G& g) {
  const Item x = g.pick(has_dims);
  const int64_t dim = g.dim_of(x);
  if (g.chance(50))
    return g.call("aten::chunk",
                  {{"self", x.value}, {"chunks", integer(2 + g.below(3))}, {"dim", integer(dim)}});
  g.call("aten::split.Tensor", {{"self", x.value},
                                {"split_size", integer(1 + g.below(x.tensor.size(dim)))},
                                {"dim", integer(dim)}});
}

void join(G& g) {
  const Item x = g.pick(has_dims);
  const int64_t dim = g.dim_of(x);
  std::vector<Item> items{x};
  for (int64_t left = 1 + g.below(2); left > 0; --left) {
    std::vector<int64_t> sizes = x.tensor.sizes().vec();
    items.push_back(g.chance(40) ? x : g.input_like(x, sizes));
  }
  g.call(g.chance(70) ? "aten::cat" : "aten::stack",
         {{"tensors", values(items)}, {"dim", integer(dim)}});
}

void move(G& g) {
  const Item x = g.pick(has_dims);
  const int64_t dim = g.dim_of(x);
  const Value self = x.value;
  switch (g.below(7)) {
    case 0:
      return g.call("aten::flip", {{"self", self}, {"dims", std::vector<SymExpr>{dim}}});
    case 1:
      return g.call(
          "aten::roll",
          {{"self", self}, {"shifts", integers({g.below(9) - 4})}, {"dims", integers({dim})}});
    case 2: {
      std::vector<int64_t> repeats(static_cast<size_t>(rank(x)), 1);
      repeats[static_cast<size_t>(g.below(rank(x)))] = 1 + g.below(3);
      return g.call("aten::repeat", {{"self", self}, {"repeats", integers(repeats)}});
    }
    case 3:
    case 4: {
      std::vector<int64_t> pad{g.below(4) - 1, g.below(4) - 1};
      if (rank(x) > 1 && g.chance(50)) pad.insert(pad.end(), {g.below(3), g.below(3) - 1});
      return g.call("aten::constant_pad_nd",
                    {{"self", self}, {"pad", integers(pad)}, {"value", g.number()}});
    }
    case 5:
      return g.call(g.chance(50) ? "aten::tril" : "aten::triu",
                    {{"self", self}, {"diagonal", integer(g.below(3) - 1)}});
    default:
      return g.call("aten::reflection_pad1d",
                    {{"self", self}, {"padding", integers({1 + g.below(2), g.below(3)})}});
  }
}

// ---- By index -----------------------------------------------------------------------------------

Item index(G& g, int64_t high, std::vector<int64_t> sizes) {
  TORCH_CHECK(high > 0, "nothing to index");  // eager on CUDA would abort
  return g.input('i', DType::kInt64, std::move(sizes), high);
}

void read_by_index(G& g) {
  const Item x = g.pick(has_dims);
  const int64_t dim = g.dim_of(x), size = x.tensor.size(dim);
  std::vector<int64_t> sizes = x.tensor.sizes().vec();
  const auto at = static_cast<size_t>(dim < 0 ? dim + rank(x) : dim);
  switch (g.below(4)) {
    case 0:
      return g.call("aten::index_select", {{"self", x.value},
                                           {"dim", integer(dim)},
                                           {"index", index(g, size, {1 + g.below(9)}).value}});
    case 1:
      sizes[at] = 1 + g.below(9);
      return g.call(
          "aten::gather",
          {{"self", x.value}, {"dim", integer(dim)}, {"index", index(g, size, sizes).value}});
    case 2: {
      std::vector<std::optional<Value>> indices(at, std::nullopt);
      indices.push_back(index(g, size, g.sizes(1 + g.below(2))).value);
      return g.call("aten::index.Tensor", {{"self", x.value}, {"indices", indices}});
    }
    default: {
      const Item table = g.pick(is_matrix);
      return g.call("aten::embedding",
                    {{"weight", table.value},
                     {"indices", index(g, table.tensor.size(0), g.sizes(1 + g.below(2))).value}});
    }
  }
}

void write_by_index(G& g) {
  const Item x = g.pick(numbers_with_dims);
  const int64_t dim = g.dim_of(x), size = x.tensor.size(dim);
  std::vector<int64_t> sizes = x.tensor.sizes().vec();
  sizes[static_cast<size_t>(dim < 0 ? dim + rank(x) : dim)] = 1 + g.below(9);
  switch (g.below(4)) {
    case 0:
      return g.call("aten::scatter_add", {{"self", x.value},
                                          {"dim", integer(dim)},
                                          {"index", index(g, size, sizes).value},
                                          {"src", g.input_like(x, sizes).value}});
    case 1:
      return g.call(
          "aten::index_add",
          {{"self", x.value},
           {"dim", integer(dim)},
           {"index",
            index(g, size, {sizes[static_cast<size_t>(dim < 0 ? dim + rank(x) : dim)]}).value},
           {"source", g.input_like(x, sizes).value}});
    case 2:
      return g.call("aten::scatter.value", {{"self", x.value},
                                            {"dim", integer(dim)},
                                            {"index", index(g, size, sizes).value},
                                            {"value", g.number()}});
    default: {
      std::vector<int64_t> rest = x.tensor.sizes().vec();
      rest[0] = 1 + g.below(9);
      const Value places = index(g, x.tensor.size(0), {rest[0]}).value;
      return g.call("aten::index_put", {{"self", x.value},
                                        {"indices", std::vector<std::optional<Value>>{places}},
                                        {"values", g.input_like(x, rest).value},
                                        {"accumulate", true}});
    }
  }
}

// ---- Composites, windows, products --------------------------------------------------------------

void softmax(G& g) {
  constexpr Names kNames[] = {"softmax.int", "log_softmax.int"};
  const Item x = g.pick(floats_with_dims);
  g.call(aten(g.one_of(kNames)), {{"self", x.value}, {"dim", integer(g.dim_of(x))}});
}

void normalise(G& g) {
  const Item x = g.pick(floats_with_dims);
  const int64_t last = x.tensor.size(-1);
  if (g.chance(70)) {
    const bool affine = g.chance(60);
    return g.call(
        "aten::layer_norm",
        {{"input", x.value},
         {"normalized_shape", integers({last})},
         {"weight", affine ? ArgumentValue(g.input_like(x, {last}).value) : ArgumentValue()},
         {"bias", affine ? ArgumentValue(g.input_like(x, {last}).value) : ArgumentValue()}});
  }
  g.call("aten::group_norm", {{"input", x.value}, {"num_groups", integer(1)}});
}

void loss(G& g) {
  constexpr Names kNames[] = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
                              "binary_cross_entropy_with_logits"};
  const Item x = g.pick(floats_with_dims);
  if (g.chance(30)) {
    const Item logits = g.pick(is_matrix);
    return g.call("aten::cross_entropy_loss",
                  {{"self", logits.value},
                   {"target", index(g, logits.tensor.size(1), {logits.tensor.size(0)}).value}});
  }
  g.call(aten(g.one_of(kNames)),
         {{"self", x.value}, {"target", g.input_like(x, x.tensor.sizes().vec()).value}});
}

void window(G& g) {
  const std::vector<int64_t> sizes{1 + g.below(2), 1 + g.below(5), 4 + g.below(6), 4 + g.below(6)};
  const Item x = g.chance(50) ? g.pick(is_image) : g.input('x', DType::kFloat32, sizes);
  switch (g.below(5)) {
    case 0:
      return g.call("aten::max_pool2d", {{"self", x.value},
                                         {"kernel_size", integers({2 + g.below(2)})},
                                         {"stride", integers({1 + g.below(2)})},
                                         {"padding", integers({g.below(2)})}});
    case 1:
      return g.call("aten::avg_pool2d", {{"self", x.value},
                                         {"kernel_size", integers({2 + g.below(2)})},
                                         {"stride", integers({1 + g.below(2)})},
                                         {"padding", integers({g.below(2)})}});
    case 2:
      return g.call(
          "aten::adaptive_avg_pool2d",
          {{"self", x.value}, {"output_size", integers({1 + g.below(3), 1 + g.below(3)})}});
    case 3:
      return g.call(
          "aten::upsample_nearest2d",
          {{"self", x.value},
           {"output_size", integers({x.tensor.size(2) * 2, x.tensor.size(3) + g.below(4)})}});
    default:
      return g.call(
          "aten::upsample_bilinear2d",
          {{"self", x.value},
           {"output_size", integers({x.tensor.size(2) * 2, x.tensor.size(3) + g.below(4)})},
           {"align_corners", g.chance(50)}});
  }
}

void product(G& g) {
  const Item x = g.pick(is_matrix);
  const Item y = g.input_like(x, {x.tensor.size(1), 1 + g.below(9)});
  if (g.chance(60)) return g.call("aten::mm", {{"self", x.value}, {"mat2", y.value}});
  g.call(
      "aten::addmm",
      {{"self", g.input_like(x, {y.tensor.size(1)}).value}, {"mat1", x.value}, {"mat2", y.value}});
}

// ---- In place -----------------------------------------------------------------------------------

void in_place(G& g) {
  constexpr Names kBinary[] = {"add_.Tensor", "mul_.Tensor", "sub_.Tensor", "copy_"};
  constexpr Names kUnary[] = {"relu_", "sigmoid_", "tanh_", "zero_", "neg_", "exp_"};
  const Item x = g.pick(is_number);
  TORCH_CHECK(g.may_write(x, x), "an input");
  switch (g.below(4)) {
    case 0:
      return g.call(aten(g.one_of(kUnary)), {{"self", x.value}});
    case 1:
      return g.call(g.chance(50) ? "aten::mul_.Scalar" : "aten::add_.Scalar",
                    {{"self", x.value}, {"other", integer(1 + g.below(3))}});
    case 2:
      return g.call("aten::masked_fill_.Scalar",
                    {{"self", x.value},
                     {"mask", g.input('x', DType::kBool, x.tensor.sizes().vec()).value},
                     {"value", integer(g.below(3))}});
    default: {
      const std::string name(g.one_of(kBinary));
      const Item y = g.partner(x);
      TORCH_CHECK(g.may_write(y, x), "an input");
      return g.call(aten(name), {{"self", x.value}, {name == "copy_" ? "src" : "other", y.value}});
    }
  }
}

constexpr WeightedStep kSteps[] = {
    {smooth, 12},        {unrounded, 4},  {deciding, 3},       {bits, 2},    {binary, 16},
    {scalar, 8},         {comparing, 4},  {choosing, 5},       {ternary, 3}, {cast, 5},
    {reduce, 9},         {reduce_all, 2}, {reduce_numbers, 3}, {places, 3},  {scan, 3},
    {view, 14},          {parts, 3},      {join, 5},           {move, 7},    {read_by_index, 5},
    {write_by_index, 4}, {softmax, 4},    {normalise, 4},      {loss, 2},    {window, 4},
    {product, 3},        {in_place, 6},
};

}  // namespace

std::vector<WeightedStep> steps() { return {std::begin(kSteps), std::end(kSteps)}; }

}  // namespace torchdyn::testing
