#include "torchdyn/replay/judge.h"

#include <algorithm>
#include <limits>
#include <map>

#include <ATen/ATen.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/autograd/autograd.h>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/interpret.h"

namespace replay {
namespace {

using at::Tensor;
using aten_bridge::DType;
using aten_bridge::Graph;
using aten_bridge::Node;
using aten_bridge::str_cat;
using aten_bridge::Value;

constexpr int kNoisyRuns = 4;
constexpr int64_t kFewUnits = 3;

// ---- Eager, other than as it is -----------------------------------------------------------------

struct Variation {
  bool wide = false;  // in float64
  // What rounding steps read and write is off by a few units in the last place, by this seed.
  uint64_t noise = 0;
};

Tensor widened(const Tensor& t) {
  if (!t.is_floating_point()) return t;
  return t.detach().to(at::kDouble).requires_grad_(t.requires_grad());
}

Node widened(const Node& node) {
  Node wide = node;
  for (auto& argument : wide.args)
    if (auto* dtype = std::get_if<DType>(&argument.value))
      if (aten_bridge::is_floating(*dtype)) *dtype = DType::kFloat64;
  return wide;
}

double unit_of(const Tensor& t) {
  switch (t.scalar_type()) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return 1.0 / 1024;
    case at::kBFloat16:
      return 1.0 / 128;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

bool is_fresh(const Node& node) {
  const auto op = aten_bridge::find_operator(node.op);
  return !aten_bridge::mutates(op.schema()) && !aten_bridge::returns_view(op.schema());
}

Tensor with_noise(const Tensor& t) {
  if (!t.is_floating_point()) return t;
  const auto units =
      at::randint(-kFewUnits, kFewUnits + 1, t.sizes(), t.options().requires_grad(false));
  return t * (units * unit_of(t) + 1);
}

// What a program makes of numbers in float64: division of integers too.
class WideDefault {
 public:
  WideDefault() { c10::set_default_dtype(at::scalarTypeToTypeMeta(at::kDouble)); }
  ~WideDefault() { c10::set_default_dtype(before_); }

 private:
  caffe2::TypeMeta before_ = c10::get_default_dtype();
};

Run varied(const Graph& program, Variation variation) {
  return [&program, variation](const Tensors& inputs) {
    at::manual_seed(variation.noise);
    aten_bridge::HashMap<Value, Tensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) tensors[program.inputs()[i]] = inputs[i];
    for (const auto& node : program.nodes()) {
      const bool rounds = variation.noise && !is_exact(*node) && is_fresh(*node);
      const auto tensor_of = [&](Value v) {
        return rounds ? with_noise(tensors.at(v)) : tensors.at(v);
      };
      int output = 0;
      for (const Tensor& t :
           aten_bridge::run_node(variation.wide ? widened(*node) : *node, tensor_of))
        tensors[node->output(output++)] = rounds ? with_noise(t) : t;
    }
    Tensors results;
    for (const auto& value : program.outputs()) results.push_back(tensors.at(*value));
    return results;
  };
}

Tensors gradients_of(const Tensors& results, const Tensors& inputs, bool noisy) {
  Tensors differentiable, trained;
  for (const Tensor& t : results)
    if (t.requires_grad() && t.grad_fn()) differentiable.push_back(t);
  for (const Tensor& t : inputs)
    if (t.is_leaf() && t.requires_grad()) trained.push_back(t);
  if (differentiable.empty() || trained.empty()) return {};
  Tensors tangents;
  at::manual_seed(2);
  for (const Tensor& t : differentiable)
    tangents.push_back(at::empty_like(t).copy_(at::randn(t.sizes())));
  if (noisy)
    for (Tensor& t : tangents) t = with_noise(t);
  return torch::autograd::grad(differentiable, trained, tangents, /*retain_graph=*/std::nullopt,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

Outcome run_on(const Run& run, Tensors inputs, bool noisy = false) {
  Outcome outcome;
  outcome.inputs = std::move(inputs);
  try {
    outcome.results = run(outcome.inputs);
    outcome.gradients = gradients_of(outcome.results, outcome.inputs, noisy);
  } catch (const std::exception& error) {
    outcome.error = error.what();
    outcome.error = outcome.error.substr(0, outcome.error.find('\n'));
  }
  std::map<const void*, int> numbers;
  for (const Tensors* all : {&outcome.inputs, &outcome.results})
    for (const Tensor& t : *all)
      if (t.defined() && t.numel() > 0)
        outcome.sharing.push_back(
            numbers.emplace(t.storage().unsafeGetStorageImpl(), static_cast<int>(numbers.size()))
                .first->second);
  return outcome;
}

Outcome run_varied(const Graph& program, Variation variation) {
  Tensors inputs = inputs_of(program);
  if (!variation.wide)
    return run_on(varied(program, variation), std::move(inputs), variation.noise > 0);
  const WideDefault wide;
  for (Tensor& t : inputs) t = widened(t);
  return run_on(varied(program, variation), std::move(inputs));
}

// ---- Values -------------------------------------------------------------------------------------

bool equal_bits(const Tensor& a, const Tensor& b) {
  return at::equal(a, b) || at::allclose(a, b, 0, 0, /*equal_nan=*/true);
}

// Distance by element: 0 where both are the same infinity or NaN, infinite where only one is.
Tensor distance(const Tensor& a, const Tensor& b) {
  const Tensor same = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
  return at::where(same, at::zeros_like(a), (a - b).abs().nan_to_num(INFINITY));
}

double largest_finite(const Tensor& t) {
  const Tensor finite = at::where(t.isfinite(), t, at::zeros_like(t));
  return finite.numel() ? finite.max().item<double>() : 0;
}

using Part = Tensors Outcome::*;

// The eager runs that tell how far off a value may be; made when they are asked for.
class Reference {
 public:
  explicit Reference(const Graph& program) : program_(program) {}

  const Outcome& exact() {
    if (!exact_) exact_ = run_varied(program_, {.wide = true});
    // A cast that makes a copy in eager may be no copy in float64, and what follows not allowed.
    if (!exact_->error.empty()) exact_ = run_varied(program_, {});
    return *exact_;
  }
  const std::vector<Outcome>& noisy() {
    for (uint64_t seed = 1; noisy_.size() < kNoisyRuns; ++seed)
      noisy_.push_back(run_varied(program_, {.noise = seed}));
    return noisy_;
  }

 private:
  const Graph& program_;
  std::optional<Outcome> exact_;
  std::vector<Outcome> noisy_;
};

std::string compare_values(const Tensor& eager, const Tensor& compiled, Part part, size_t i,
                           Reference& reference) {
  const Tensor theirs = eager.detach(), mine = compiled.detach();
  if (equal_bits(theirs, mine)) return "";
  if (!theirs.is_floating_point())
    return str_cat(theirs.ne(mine).sum().item<int64_t>(), " of ", theirs.numel(), " differ");
  const Tensor exact = (reference.exact().*part)[i].detach().to(at::kDouble);
  const Tensor wide = theirs.to(at::kDouble), error = distance(mine.to(at::kDouble), exact);
  const Tensor unit = exact.abs() * unit_of(theirs) + std::numeric_limits<float>::min();
  Tensor good = mine.eq(theirs).logical_or(mine.isnan().logical_and(theirs.isnan()));
  double allowed = 2 * largest_finite(distance(wide, exact));
  if (theirs.scalar_type() == at::kDouble)  // nothing tells how far off eager is
    allowed = 1e-12 * std::max(1.0, largest_finite(exact.abs()));
  good = good.logical_or(error.le(unit + allowed));
  if (good.all().item<bool>()) return "";
  for (const Outcome& noisy : reference.noisy()) {
    if ((noisy.*part).size() <= i) continue;
    const Tensor other = (noisy.*part)[i].detach().to(at::kDouble);
    good = good.logical_or(other.isfinite().ne(wide.isfinite()));  // on the brink
    allowed = std::max(allowed, 2 * largest_finite(distance(other, exact)));
  }
  good = good.logical_or(error.le(unit + allowed));
  if (good.all().item<bool>()) return "";
  const Tensor bad = good.logical_not().nonzero()[0];
  std::string place;
  Tensor x = mine, y = wide, z = exact;
  for (int64_t d = 0; d < bad.numel(); ++d) {
    const int64_t at = bad[d].item<int64_t>();
    place += str_cat(d ? ", " : "", at);
    x = x.select(0, at), y = y.select(0, at), z = z.select(0, at);
  }
  return str_cat(good.logical_not().sum().item<int64_t>(), " of ", good.numel(), " are off: [",
                 place, "] is ", x.item<double>(), ", eager ", y.item<double>(), ", exactly ",
                 z.item<double>(), ", allowed ", allowed);
}

std::vector<int64_t> strides_that_matter(const Tensor& t) {
  std::vector<int64_t> strides;
  for (int64_t d = 0; t.numel() > 0 && d < t.dim(); ++d)
    if (t.size(d) > 1) strides.push_back(t.stride(d));
  return strides;
}

std::string compare(const Tensor& eager, const Tensor& compiled, Part part, size_t i,
                    Reference& reference) {
  if (!eager.defined() || !compiled.defined())
    return eager.defined() == compiled.defined()
               ? ""
               : str_cat("is ", compiled.defined() ? "defined" : "undefined", ", not so in eager");
  if (eager.scalar_type() != compiled.scalar_type())
    return str_cat("is ", c10::toString(compiled.scalar_type()), ", eager ",
                   c10::toString(eager.scalar_type()));
  if (eager.sizes() != compiled.sizes()) return "has other sizes";
  if (eager.requires_grad() != compiled.requires_grad()) return "requires a gradient, or does not";
  const std::string problem = compare_values(eager, compiled, part, i, reference);
  if (!problem.empty()) return problem;
  // A parameter's gradient gets the parameter's strides, whatever those of the value were.
  if (part != &Outcome::gradients && strides_that_matter(eager) != strides_that_matter(compiled))
    return "has other strides";
  return "";
}

}  // namespace

Run eager(const Graph& program) {
  return [&program](const Tensors& inputs) { return aten_bridge::interpret(program, inputs); };
}

Outcome run(const Run& run, const Graph& program) { return run_on(run, inputs_of(program)); }

std::string difference(const Graph& program, const Run& compiled) {
  const Outcome theirs = run(eager(program), program), mine = run(compiled, program);
  if (!theirs.error.empty() || !mine.error.empty()) {
    if (theirs.error.empty() == mine.error.empty()) return "";
    return str_cat("raised '", mine.error, "', eager '", theirs.error, "'");
  }
  Reference reference(program);
  constexpr std::pair<Part, std::string_view> kParts[] = {{&Outcome::results, "result"},
                                                          {&Outcome::gradients, "gradient"},
                                                          {&Outcome::inputs, "input"}};
  for (const auto& [part, name] : kParts) {
    if ((theirs.*part).size() != (mine.*part).size())
      return str_cat("another number of ", name, "s");
    for (size_t i = 0; i < (theirs.*part).size(); ++i) {
      const std::string problem = compare((theirs.*part)[i], (mine.*part)[i], part, i, reference);
      if (!problem.empty()) return str_cat(name, " ", i, " ", problem);
    }
  }
  return theirs.sharing == mine.sharing ? "" : "other results share memory";
}

}  // namespace replay
