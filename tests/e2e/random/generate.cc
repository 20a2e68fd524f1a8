#include "tests/e2e/random/generate.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/convert.h"
#include "tests/e2e/test_device.h"
#include "torchdyn/replay/judge.h"

namespace torchdyn::testing {

using aten_bridge::Argument;
using aten_bridge::DType;
using aten_bridge::Graph;
using aten_bridge::str_cat;
using aten_bridge::TensorType;
using aten_bridge::Value;

namespace {

constexpr int64_t kMostElements = 40000;
constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 64, 100};

std::vector<aten_bridge::SymExpr> exprs(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// Nobody's argument.
bool is_unused(const Graph& program, const Value& value) {
  for (const auto& node : program.nodes())
    for (const Value& used : node->inputs())
      if (used == value) return false;
  return true;
}

bool mutates(const aten_bridge::Node& node) {
  return aten_bridge::mutates(aten_bridge::find_operator(node.op).schema());
}

}  // namespace

bool is_floating(const Generator::Item& item) { return item.tensor.is_floating_point(); }
bool is_bool(const Generator::Item& item) { return item.tensor.scalar_type() == at::kBool; }
bool is_integer(const Generator::Item& item) { return !is_floating(item) && !is_bool(item); }
bool is_any(const Generator::Item&) { return true; }

Generator::Generator(std::string name, unsigned seed) : random_(seed), builder_(std::move(name)) {
  for (int i = 0; i < 3; ++i) extents_.push_back(one_of(kExtents));
  if (chance(5)) extents_.push_back(0);
  if (chance(10)) extents_.push_back(one_of(std::vector<int64_t>{300, 1025, 2048}));
  main_ = chance(60) ? DType::kFloat32
                     : one_of(std::vector<DType>{DType::kFloat64, DType::kBFloat16, DType::kFloat16,
                                                 DType::kInt64});
}

int64_t Generator::below(int64_t n) {
  TORCH_CHECK(n > 0, "nothing to choose from");
  return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
}

double Generator::number() {
  constexpr double kNumbers[] = {0.5, 2, -1, 0.25, 3, -1.5, 1, 0};
  return one_of(kNumbers);
}

int64_t Generator::dim_of(const Item& item) {
  const int64_t rank = item.tensor.dim();
  const int64_t dim = below(rank);
  return chance(50) ? dim : dim - rank;
}

DType Generator::dtype() {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16,
                              DType::kInt64,   DType::kInt32,   DType::kUInt8,    DType::kBool};
  return chance(70) ? main_ : one_of(kTypes);
}

std::vector<int64_t> Generator::sizes(int64_t rank) {
  std::vector<int64_t> sizes;
  int64_t count = 1;
  while (static_cast<int64_t>(sizes.size()) < rank) {
    const int64_t extent = one_of(extents_);
    sizes.push_back(count * extent <= kMostElements ? extent : 1);
    count *= sizes.back();
  }
  return sizes;
}

Generator::Item Generator::input(char kind, DType dtype, std::vector<int64_t> sizes, int64_t high) {
  TensorType type{dtype, aten_bridge::to_device(test_device()), exprs(sizes),
                  aten_bridge::contiguous_strides(exprs(sizes))};
  if (sizes.size() > 1 && chance(20)) {  // transposed
    std::reverse(sizes.begin(), sizes.end());
    type.strides = aten_bridge::contiguous_strides(exprs(sizes));
    std::reverse(type.strides.begin(), type.strides.end());
  } else if (!sizes.empty() && chance(10)) {  // every other element
    for (auto& stride : type.strides) stride = stride * 2;
  } else if (!sizes.empty() && kind == 'n' && chance(10)) {  // expanded
    type.strides[static_cast<size_t>(below(static_cast<int64_t>(sizes.size())))] = 0;
  }
  if (kind == 'x' && aten_bridge::is_floating(dtype) && chance(60)) kind = 'w';
  const std::string name =
      str_cat(std::string(1, kind), inputs_++, high > 0 ? str_cat("_", high) : "");
  const Value value = builder_.input(name, type);
  items_.push_back({value, builder_.tensor(value)});
  return items_.back();
}

Generator::Item Generator::input_like(const Item& item, std::vector<int64_t> sizes) {
  const DType dtype = aten_bridge::to_dtype(item.tensor.scalar_type());
  return input(aten_bridge::is_floating(dtype) || dtype == DType::kBool ? 'x' : 'n', dtype,
               std::move(sizes));
}

Generator::Item Generator::pick(Condition condition) {
  std::vector<Item> fitting;
  for (const Item& item : items_)
    if (condition(item)) fitting.push_back(item);
  // Late ones more often: programs get deep.
  if (!fitting.empty() && !chance(10))
    return fitting[static_cast<size_t>(std::max(below(static_cast<int64_t>(fitting.size())),
                                                below(static_cast<int64_t>(fitting.size()))))];
  for (int i = 0; i < 100; ++i) {
    const DType type = dtype();
    const bool is_number = !aten_bridge::is_floating(type) && type != DType::kBool;
    const Item probe{{}, at::empty({0}, aten_bridge::to_scalar_type(type))};
    if (condition(probe)) return input(is_number ? 'n' : 'x', type, sizes(below(4)));
  }
  TORCH_CHECK(false, "nothing meets the condition");
}

Generator::Item Generator::pick_exact(Condition condition) {
  std::vector<Item> fitting;
  for (const Item& item : items_)
    if (condition(item) && is_exact(item)) fitting.push_back(item);
  TORCH_CHECK(!fitting.empty(), "everything is rounded");
  return one_of(fitting);
}

Generator::Item Generator::partner(const Item& item) {
  std::vector<Item> fitting;
  for (const Item& other : items_)
    if (at::are_expandable(other.tensor.sizes(), item.tensor.sizes())) fitting.push_back(other);
  if (!fitting.empty() && !chance(25)) return one_of(fitting);
  std::vector<int64_t> sizes = item.tensor.sizes().vec();
  for (int64_t& size : sizes)
    if (chance(25)) size = 1;
  sizes.erase(sizes.begin(),
              sizes.begin() + (chance(30) ? below(static_cast<int64_t>(sizes.size()) + 1) : 0));
  return chance(70) ? input_like(item, sizes)
                    : input(main_ == DType::kInt64 ? 'n' : 'x', main_, sizes);
}

bool Generator::may_write(const Item& from, const Item& to) const {
  for (const Item& item : items_) {
    if (!item.value.node->is_input() || !item.tensor.is_alias_of(to.tensor)) continue;
    if (at::has_internal_overlap(item.tensor) == at::MemOverlap::Yes) return false;
    if (from.tensor.requires_grad()) return false;
  }
  return true;
}

void Generator::call(const std::string& op, std::vector<Argument> args) {
  call_for(op, std::move(args));
}

Generator::Item Generator::call_for(const std::string& op, std::vector<Argument> args) {
  const std::vector<Value> values = builder_.call(op, std::move(args));
  for (const Value& v : values)
    if (builder_.tensor(v).numel() <= kMostElements) items_.push_back({v, builder_.tensor(v)});
  return {values.at(0), builder_.tensor(values.at(0))};
}

// Returned are the values that nothing uses, and one more.
Graph Generator::finish() {
  std::vector<Value> outputs;
  Graph all = builder_.finish({});
  const Value other = one_of(items_).value;
  for (const Item& item : items_)
    if (item.value == other || (!item.value.node->is_input() && is_unused(all, item.value)))
      outputs.push_back(item.value);
  std::shuffle(outputs.begin(), outputs.end(), random_);
  if (outputs.size() > 4) outputs.resize(4);
  all.set_outputs({outputs.begin(), outputs.end()});
  all.remove_dead(mutates);
  return all;
}

Graph random_program(unsigned seed) {
  int total = 0;
  const std::vector<WeightedStep> kinds = steps();
  for (const WeightedStep& kind : kinds) total += kind.weight;
  for (unsigned attempt = 0;; ++attempt) {
    Generator generator(str_cat("random_", seed), seed + 1000003 * attempt);
    for (int64_t left = 2 + generator.below(14); left > 0; --left) {
      int64_t at = generator.below(total);
      size_t kind = 0;
      while (at >= kinds[kind].weight) at -= kinds[kind++].weight;
      try {
        kinds[kind].step(generator);
      } catch (const aten_bridge::CaptureError&) {  // no such operator
        throw;
      } catch (const std::exception&) {  // not for these arguments
      }
    }
    try {
      Graph program = generator.finish();
      if (replay::run(replay::eager(program), program).error.empty()) return program;
    } catch (const c10::Error&) {  // nothing was made
    }
  }
}

}  // namespace torchdyn::testing
