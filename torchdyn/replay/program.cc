#include "torchdyn/replay/program.h"

#include <algorithm>
#include <cstdlib>

#include <ATen/ATen.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/interpret.h"
#include "torchdyn/replay/indices.h"

namespace replay {
namespace {

using aten_bridge::Argument;
using aten_bridge::ArgumentValue;
using aten_bridge::DType;
using aten_bridge::Graph;
using aten_bridge::Node;
using aten_bridge::TensorType;
using aten_bridge::Value;

std::vector<int64_t> numbers(const std::vector<aten_bridge::SymExpr>& exprs) {
  std::vector<int64_t> all;
  for (const auto& e : exprs) all.push_back(e.as_constant());
  return all;
}

// The number at the end of a name.
int64_t number_in(const std::string& name, int64_t otherwise) {
  const size_t at = name.rfind('_');
  return at == std::string::npos ? otherwise : std::atoll(name.c_str() + at + 1);
}

// `count` values for an input.
at::Tensor values_for(const std::string& name, DType dtype, int64_t count) {
  const auto type = aten_bridge::to_scalar_type(dtype);
  if (const auto limit = index_limit(name)) return at::randint(*limit, {count}).to(type);
  if (dtype == DType::kBool) return at::randint(2, {count}).to(type);
  if (aten_bridge::is_floating(dtype)) return at::randn({count}).to(type);
  return at::randint(1, 5, {count}).to(type);
}

// Each input has its own seed, so that its values stay when a program gets smaller.
void seed_for(const std::string& program, const std::string& input) {
  at::manual_seed(
      static_cast<uint64_t>(1000 * number_in(program, 1) + std::atoll(input.c_str() + 1)));
}

at::Tensor tensor_for(const std::string& program, const std::string& name, const TensorType& type) {
  seed_for(program, name);
  const std::vector<int64_t> sizes = numbers(type.sizes), strides = numbers(type.strides);
  int64_t span = 1;
  for (size_t d = 0; d < sizes.size(); ++d) span += (sizes[d] - 1) * strides[d];
  const bool is_empty = std::count(sizes.begin(), sizes.end(), 0) > 0;
  at::Tensor values =
      values_for(name, type.dtype, is_empty ? 0 : span).to(aten_bridge::to_c10_device(type.device));
  at::Tensor tensor = at::empty({0}, values.options());
  tensor.set_(values.storage(), 0, sizes, strides);
  return tensor.requires_grad_(name[0] == 'w');
}

const void* storage_of(const at::Tensor& t) { return t.storage().unsafeGetStorageImpl(); }

bool narrows(const Node& node) {
  const auto* to = std::get_if<DType>(&node.arg("dtype"));
  const DType from = node.inputs()[0].type().dtype;
  return to && aten_bridge::is_floating(*to) && aten_bridge::is_floating(from) &&
         aten_bridge::size_in_bytes(*to) < aten_bridge::size_in_bytes(from);
}

}  // namespace

Tensors inputs_of(const Graph& program) {
  Tensors inputs;
  for (const Value& v : program.inputs())
    inputs.push_back(tensor_for(program.name, v.node->name, v.type()));
  return inputs;
}

bool is_exact(const Node& node) {
  static const auto& kExact = *new aten_bridge::HashSet<std::string>{"neg",
                                                                     "abs",
                                                                     "relu",
                                                                     "relu_",
                                                                     "sign",
                                                                     "sgn",
                                                                     "floor",
                                                                     "ceil",
                                                                     "round",
                                                                     "trunc",
                                                                     "frac",
                                                                     "isnan",
                                                                     "isfinite",
                                                                     "logical_not",
                                                                     "logical_and",
                                                                     "logical_or",
                                                                     "bitwise_not",
                                                                     "bitwise_and",
                                                                     "bitwise_or",
                                                                     "bitwise_xor",
                                                                     "eq",
                                                                     "ne",
                                                                     "lt",
                                                                     "le",
                                                                     "gt",
                                                                     "ge",
                                                                     "maximum",
                                                                     "minimum",
                                                                     "fmax",
                                                                     "fmin",
                                                                     "copysign",
                                                                     "heaviside",
                                                                     "where",
                                                                     "clamp",
                                                                     "clamp_",
                                                                     "clamp_min",
                                                                     "masked_fill",
                                                                     "masked_fill_",
                                                                     "amax",
                                                                     "amin",
                                                                     "max",
                                                                     "min",
                                                                     "any",
                                                                     "all",
                                                                     "argmax",
                                                                     "argmin",
                                                                     "cummax",
                                                                     "cummin",
                                                                     "transpose",
                                                                     "permute",
                                                                     "unsqueeze",
                                                                     "squeeze",
                                                                     "slice",
                                                                     "select",
                                                                     "expand",
                                                                     "reshape",
                                                                     "view",
                                                                     "flatten",
                                                                     "unfold",
                                                                     "diagonal",
                                                                     "narrow",
                                                                     "movedim",
                                                                     "split",
                                                                     "chunk",
                                                                     "unbind",
                                                                     "clone",
                                                                     "contiguous",
                                                                     "cat",
                                                                     "stack",
                                                                     "flip",
                                                                     "roll",
                                                                     "repeat",
                                                                     "constant_pad_nd",
                                                                     "reflection_pad1d",
                                                                     "replication_pad1d",
                                                                     "tril",
                                                                     "triu",
                                                                     "index_select",
                                                                     "gather",
                                                                     "index",
                                                                     "embedding",
                                                                     "scatter",
                                                                     "select_scatter",
                                                                     "slice_scatter",
                                                                     "index_fill",
                                                                     "max_pool2d",
                                                                     "upsample_nearest2d",
                                                                     "copy_",
                                                                     "zero_",
                                                                     "fill_",
                                                                     "new_full",
                                                                     "full_like",
                                                                     "zeros_like",
                                                                     "ones_like",
                                                                     "one_hot",
                                                                     "sort",
                                                                     "diag_embed",
                                                                     "threshold",
                                                                     "hardtanh",
                                                                     "scatter_",
                                                                     "numpy_T",
                                                                     "t"};
  const size_t from = node.op.find("::") + 2;
  const std::string name = node.op.substr(from, node.op.find('.') - from);
  if (name == "to" || name == "_to_copy") return !narrows(node);
  return kExact.contains(name);
}

Value Builder::input(const std::string& name, const TensorType& type) {
  const Value value = program_.add_input(name, type);
  tensors_[value] = tensor_for(program_.name, name, type);
  return value;
}

std::vector<Value> Builder::call(const std::string& op, std::vector<Argument> given) {
  Node node;
  node.op = node.origin = op;
  for (const c10::Argument& spec : aten_bridge::find_operator(op).schema().arguments()) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const Argument& a) { return a.name == spec.name(); });
    if (found != given.end()) {
      node.args.push_back(*found);
      continue;
    }
    TORCH_CHECK(spec.default_value(), op, " needs ", spec.name());
    node.args.push_back(
        {spec.name(), aten_bridge::to_argument(*spec.default_value(), spec,
                                               [](const at::Tensor&) { return ArgumentValue(); })});
  }
  check_indices(node);
  const auto tensor_of = [&](Value v) { return tensors_.at(v); };
  const Tensors results = aten_bridge::run_node(node, tensor_of);
  bool reads_rounded = false;
  for (const Value& v : node.inputs()) reads_rounded |= !is_exact(v);
  const bool rounds = !replay::is_exact(node);
  for (const at::Tensor& t : results) node.outputs.push_back(aten_bridge::type_of(t));
  Node* added = program_.add(op, std::move(node.args), std::move(node.outputs), op);
  std::vector<Value> values;
  for (const at::Tensor& t : results) {
    values.push_back(added->output(static_cast<int>(values.size())));
    tensors_[values.back()] = t;
    is_rounded_[storage_of(t)] |= reads_rounded || (rounds && t.is_floating_point());
  }
  return values;
}

void Builder::check_indices(const Node& node) const {
  for (const IndexUse& use : index_uses(node)) {
    const auto limit = index_limit(use.index.node->name);
    TORCH_CHECK(limit && *limit <= tensors_.at(use.indexed).size(use.dim), "out of range");
  }
}

bool Builder::is_exact(Value value) const {
  const auto found = is_rounded_.find(storage_of(tensors_.at(value)));
  return found == is_rounded_.end() || !found->second;
}

Graph Builder::finish(std::vector<Value> outputs) {
  program_.set_outputs({outputs.begin(), outputs.end()});
  return std::move(program_);
}

}  // namespace replay
