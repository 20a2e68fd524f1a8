#include "aten_bridge/graph/draws.h"

#include <algorithm>
#include <string_view>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/extract.h"

namespace aten_bridge {
namespace {

constexpr int64_t kBlock = 256;               // threads of ATen's kernels
constexpr int64_t kNumbersOfACall = 4;        // what a generator's offset counts
constexpr int64_t kAlignment = 16;            // bytes of the widest access
constexpr double kFarthest = 32752;           // a bound whose distances every dtype holds
constexpr int64_t kMostElements = 1ll << 31;  // beyond, ATen draws part by part

// Views whose first element is the first one of what they view.
constexpr std::string_view kFromTheStart[] = {
    "aten::view",        "aten::_unsafe_view",  "aten::reshape",   "aten::permute",
    "aten::t",           "aten::transpose.int", "aten::unsqueeze", "aten::squeeze",
    "aten::squeeze.dim", "aten::squeeze.dims",  "aten::alias",     "aten::detach"};

bool starts_where_its_base_does(const Node& view) {
  return std::find(std::begin(kFromTheStart), std::end(kFromTheStart), view.op) !=
         std::end(kFromTheStart);
}

const ArgumentValue* find(const Node& node, std::string_view name) {
  for (const Argument& a : node.args)
    if (a.name == name) return &a.value;
  return nullptr;
}

double real(const Node& node, std::string_view name) {
  const ArgumentValue& value = node.arg(name);
  if (const auto* whole = std::get_if<SymExpr>(&value))
    return static_cast<double>(whole->as_constant());
  return std::get<double>(value);
}

// Dimensions from the outermost to the innermost in memory; none where there are gaps.
std::optional<std::vector<size_t>> memory_order(const TensorType& type) {
  std::vector<size_t> order(type.sizes.size()), long_ones;
  for (size_t d = 0; d < order.size(); ++d)
    if (type.sizes[d] != SymExpr(1)) long_ones.push_back(d);
  std::sort(long_ones.begin(), long_ones.end(), [&](size_t a, size_t b) {
    return type.strides[a].as_constant() > type.strides[b].as_constant();
  });
  int64_t dense = 1;
  size_t next = long_ones.size();
  for (size_t n = order.size(); n-- > 0;) {
    const bool is_long = type.sizes[n] != SymExpr(1);
    const size_t d = order[n] = is_long ? long_ones[--next] : n;
    if (is_long && type.strides[d] != SymExpr(dense)) return std::nullopt;
    dense *= type.sizes[d].as_constant();
  }
  return order;
}

bool has_constant_sizes(const TensorType& type) {
  const auto is_constant = [](const SymExpr& e) { return e.is_constant(); };
  return std::all_of(type.sizes.begin(), type.sizes.end(), is_constant) &&
         std::all_of(type.strides.begin(), type.strides.end(), is_constant);
}

// What ATen's kernels for one result choose by.
struct Launch {
  int64_t elements, most_threads;

  int64_t threads() const {
    return kBlock * std::min((elements + kBlock - 1) / kBlock, most_threads / kBlock);
  }
  // The offset is advanced by, where a call gives a thread `many` numbers.
  int64_t increment(int64_t many) const {
    return ((elements - 1) / (threads() * many) + 1) * kNumbersOfACall;
  }
};

class Rewriter {
 public:
  Rewriter(const Graph& graph, const DrawOptions& options)
      : graph_(graph), options_(options), extract_(graph.name) {}

  Graph rewrite() && {
    for (Value input : graph_.inputs()) extract_.add_input(input.node->name, input);
    for (size_t i = static_cast<size_t>(options_.primals); i < graph_.inputs().size(); ++i)
      of_tangents_.insert(graph_.inputs()[i].node);
    bool forward_ended = false;
    for (const auto& node : graph_.nodes()) {
      for (Value v : node->inputs()) {
        if (!of_tangents_.contains(v.node)) continue;
        of_tangents_.insert(node.get());
        forward_ended = true;
      }
      if (forward_ended || !draw(*node)) extract_.add(*node);
    }
    return std::move(extract_).finish(graph_.outputs());
  }

 private:
  struct Row {
    std::string_view op;
    bool (Rewriter::*draw)(const Node&);
  };
  static const Row kRows[];

  // False: the node stays as it is.
  bool draw(const Node& node) {
    const auto row =
        std::find_if(kRows, kRows + kRowCount, [&](const Row& r) { return r.op == node.op; });
    if (row == kRows + kRowCount || !node.outputs[0]) return false;
    const TensorType& type = *node.outputs[0];
    const ArgumentValue* generator = find(node, "generator");
    if (generator != nullptr && !std::holds_alternative<std::monostate>(*generator)) return false;
    if (type.device.kind != Device::Kind::kCuda || !has_constant_sizes(type)) return false;
    const auto most = options_.most_threads(type.device);
    const int64_t elements = element_count(type).as_constant();
    if (!most || *most < kBlock || elements == 0 || elements >= kMostElements) return false;
    launch_ = {elements, *most};
    origin_ = node.origin.empty() ? node.op : node.origin;
    return (this->*row->draw)(node);
  }

  Value add(std::string op, std::vector<Argument> args, TensorType type) {
    return extract_.graph()
        .add(std::move(op), std::move(args), {std::move(type)}, origin_)
        ->output(0);
  }

  Value state(const Device& device, int64_t many, std::vector<std::optional<Value>> aligned = {}) {
    return add("torchdyn::philox_state",
               {{"increment", SymExpr(launch_.increment(many))},
                {"aligned", std::move(aligned)},
                {"device", device}},
               {DType::kInt64, {}, {2}, {1}});
  }

  // `op` of `state` over the elements of `type` in the order of memory, as a view of that.
  Value in_memory_order(std::string op, Value state, std::vector<Argument> numbers,
                        const TensorType& type, const std::vector<size_t>& order) {
    TensorType row_major = type;
    for (size_t n = 0; n < order.size(); ++n) row_major.sizes[n] = type.sizes[order[n]];
    row_major.strides = contiguous_strides(row_major.sizes);
    const Value drawn = function(std::move(op), state, std::move(numbers), row_major);
    if (std::is_sorted(order.begin(), order.end())) return drawn;
    std::vector<SymExpr> dims(order.size());
    for (size_t n = 0; n < order.size(); ++n) dims[order[n]] = static_cast<int64_t>(n);
    return add("aten::permute", {{"self", drawn}, {"dims", std::move(dims)}}, type);
  }

  Value function(std::string op, Value state, std::vector<Argument> numbers,
                 const TensorType& type) {
    std::vector<Argument> args{{"state", state}, {"size", type.sizes}};
    args.insert(args.end(), numbers.begin(), numbers.end());
    args.push_back({"threads", SymExpr(launch_.most_threads)});
    if (type.dtype != DType::kBool || op != "torchdyn::philox_dropout")
      args.push_back({"dtype", type.dtype});
    args.push_back({"device", type.device});
    return add(std::move(op), std::move(args), type);
  }

  // ---- Dropout ----

  // The input of the graph that a value starts with, itself where it is made by an operator; none
  // where its first element may be anywhere.
  std::optional<Value> base(Value v) const {
    while (!v.node->is_input() && options_.is_view(*v.node)) {
      const std::vector<Value> inputs = v.node->inputs();
      if (!starts_where_its_base_does(*v.node) || inputs.empty()) return std::nullopt;
      v = inputs.front();
    }
    return v;
  }

  // How many elements ATen's kernel takes at once; memory without gaps, that starts where accesses
  // of any width may.
  int64_t vector_of(const TensorType& type) const {
    int64_t vector = kAlignment / static_cast<int64_t>(size_in_bytes(type.dtype));
    while (launch_.elements % vector != 0) vector /= 2;
    return vector;
  }

  bool dropout(const Node& node) {
    const Value input = std::get<Value>(node.arg("input"));
    const TensorType& type = input.type();
    const double p = real(node, "p");
    const auto* train = std::get_if<bool>(&node.arg("train"));
    if (!(p >= 0 && p < 1) || (train != nullptr && !*train) || !is_computed(type.dtype))
      return false;
    if (!has_constant_sizes(type) || !node.outputs[1]) return false;
    const auto order = memory_order(type);
    const int64_t vector = order ? vector_of(type) : 1;
    std::vector<std::optional<Value>> aligned;
    if (vector > 1) {
      const auto from = base(input);
      if (!from || memory_order(*node.outputs[0]) != order) return false;
      if (from->node->is_input()) aligned.push_back(extract_.at(*from));
    }
    // As ATen's kernel holds them.
    const bool is_double = type.dtype == DType::kFloat64;
    const double keep = is_double ? 1 - p : static_cast<float>(1 - p);
    const double scale = is_double ? 1 / keep : static_cast<float>(1 / keep);
    const Value at = state(type.device, kNumbersOfACall, std::move(aligned));
    const std::vector<Argument> numbers{{"keep", keep}, {"vector", SymExpr(vector)}};
    // One by one it goes by the sizes, whatever the strides are.
    const Value mask =
        vector > 1
            ? in_memory_order("torchdyn::philox_dropout", at, numbers, *node.outputs[1], *order)
            : function("torchdyn::philox_dropout", at, numbers, *node.outputs[1]);
    extract_.put(node.output(1), mask);
    extract_.put(node.output(0),
                 add("aten::native_dropout_backward",
                     {{"grad_output", extract_.at(input)}, {"mask", mask}, {"scale", scale}},
                     *node.outputs[0]));
    return true;
  }

  // ---- Distributions ----

  bool distribution(const Node& node, std::string op, std::vector<Argument> numbers) {
    const TensorType& type = *node.outputs[0];
    const auto order = memory_order(type);
    if (!order) return false;
    const int64_t many = type.dtype == DType::kFloat64 ? kNumbersOfACall / 2 : kNumbersOfACall;
    const Value at = state(type.device, many);
    extract_.put(node.output(0),
                 in_memory_order(std::move(op), at, std::move(numbers), type, *order));
    return true;
  }

  bool bernoulli(const Node& node) {
    const double p = real(node, "p");
    if (!(p >= 0 && p <= 1) || !is_computed(node.outputs[0]->dtype)) return false;
    return distribution(node, "torchdyn::philox_bernoulli", {{"p", p}});
  }

  bool uniform(const Node& node, double low, double high) {
    if (!(low <= high && low >= -kFarthest && high <= kFarthest)) return false;
    if (!is_floating(node.outputs[0]->dtype)) return false;
    return distribution(node, "torchdyn::philox_uniform", {{"low", low}, {"high", high}});
  }
  bool uniform(const Node& node) { return uniform(node, real(node, "from"), real(node, "to")); }
  bool rand(const Node& node) { return uniform(node, 0, 1); }

  bool normal(const Node& node, double mean, double std) {
    const DType dtype = node.outputs[0]->dtype;
    if (!(std >= 0) || !is_floating(dtype) || dtype == DType::kFloat64) return false;
    return distribution(node, "torchdyn::philox_normal", {{"mean", mean}, {"std", std}});
  }
  bool normal(const Node& node) { return normal(node, real(node, "mean"), real(node, "std")); }
  bool randn(const Node& node) { return normal(node, 0, 1); }

  static constexpr size_t kRowCount = 8;

  const Graph& graph_;
  const DrawOptions& options_;
  Extract extract_;
  HashSet<const Node*> of_tangents_;
  Launch launch_{};     // of the node that is being rewritten
  std::string origin_;  // its
};

const Rewriter::Row Rewriter::kRows[kRowCount] = {
    {"aten::native_dropout", &Rewriter::dropout},
    {"aten::bernoulli.p", &Rewriter::bernoulli},
    {"aten::uniform", &Rewriter::uniform},
    {"aten::rand", &Rewriter::rand},
    {"aten::rand_like", &Rewriter::rand},
    {"aten::normal_functional", &Rewriter::normal},
    {"aten::randn", &Rewriter::randn},
    {"aten::randn_like", &Rewriter::randn},
};

}  // namespace

Graph draws_in_kernels(const Graph& graph, const DrawOptions& options) {
  return Rewriter(graph, options).rewrite();
}

}  // namespace aten_bridge
