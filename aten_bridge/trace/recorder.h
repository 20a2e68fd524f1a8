// The graph under construction: every operator that reaches the Fake key becomes a node.
//   Recorder recorder(Numerics::kDefault, /*sizes_are_open=*/false);
//   at::Tensor x = recorder.add_input("x", real);    // a fake
//   recorder.call(op, keys, stack);                  // fakes in, fakes out, one node more
//   Graph graph = std::move(recorder).finish(outputs);
//
// Per operator, in this order: a refusal row; a lazy bit (what it stands for is recorded); a
// decomposition (its operators are recorded instead); values that are read (evaluate.h); a shape
// rule or a tested Meta kernel (a node); LibTorch's composite kernel (its operators are recorded).
// An operator with none of them is a CaptureError. A decomposition that rounds otherwise than eager
// is used last under Numerics::kEager, and only for its shapes (a node).
// A view that changes nothing is its argument; a view taken twice is one node.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/numerics.h"
#include "aten_bridge/decompose/decompose.h"
#include "aten_bridge/graph/graph.h"
#include "aten_bridge/trace/evaluate.h"
#include "aten_bridge/trace/operator_info.h"
#include "aten_bridge/trace/view_table.h"

namespace at {
class Tensor;
}
namespace c10 {
class DispatchKeySet;
class OperatorHandle;
}  // namespace c10

namespace aten_bridge {

class Recorder {
 public:
  Recorder(Numerics numerics, bool sizes_are_open)
      : numerics_(numerics), sizes_are_open_(sizes_are_open) {}

  // A fake with a real tensor's geometry, standing for a new graph input.
  at::Tensor add_input(const std::string& name, const at::Tensor& real);
  // A fake of a type, whose values nobody knows: a tangent, an input at other sizes than it has.
  at::Tensor add_input(const std::string& name, const TensorType& type);

  // The Fake key: fakes and wrapped numbers in; fakes out. Throws CaptureError.
  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack);

  // From here on no index is checked.
  void trust_indices() { trusts_indices_ = true; }

  // The value whose memory a fake's value shares when views are run as views.
  Value root(const at::Tensor& fake) const;

  // The value of a fake that is the same on every call; none where capture may not use it: its
  // sizes are open, or operators are to round as eager's do.
  std::optional<at::Tensor> constant(const at::Tensor& fake) const;

  // What was read from values so far, and the value that it was read from.
  struct Read {
    at::Tensor fake;
    std::optional<HostNumber> number;
    bool raises = false;  // eager raises where it is another one
  };
  const std::vector<Read>& reads() const { return reads_; }
  bool draws() const { return draws_; }

  // What is recorded so far, without outputs.
  const Graph& graph() const { return graph_; }

  // Whether a fake is another value converted to its dtype.
  bool is_converted(const at::Tensor& fake) const;

  // Whether some view was conjugated or negated: values of its own in the graph, memory of its base
  // in eager.
  bool met_lazy_views() const { return met_lazy_views_; }

  // Outputs are fakes; undefined ones are none. Dead nodes go; random ones and those
  // without results, which check something, stay.
  Graph finish(const std::vector<at::Tensor>& outputs) &&;

 private:
  void read_number(Stack& stack);
  // Records whether the indices among the arguments are inside, as numbers to be read by each run.
  void check_indices(const OperatorInfo& info, std::span<const c10::IValue> args);
  Inferred infer_results(const c10::OperatorHandle& op, const OperatorInfo& info,
                         std::span<const c10::IValue> args);
  Inferred infer_from_values(const c10::OperatorHandle& op, std::span<const c10::IValue> args);
  void decompose(const c10::OperatorHandle& op, const OperatorInfo& info, Stack& stack);
  void run_in_place_of(const OperatorInfo& info, absl::FunctionRef<void()> run);
  // What `run` records has this origin, unless it is a part of another's.
  void run_as(std::string_view op, absl::FunctionRef<void()> run);
  void record(const c10::OperatorHandle& op, const OperatorInfo& info, Stack& stack);
  void compute_lazily_set(const LazyBit& lazy_bit, Stack& stack);
  // The values that these results of a view are already; empty when one is new.
  std::vector<Value> known_views(std::span<const c10::IValue> args,
                                 const std::vector<c10::IValue>& twins) const;
  // Adds the call to the graph; the values of its defined results.
  std::vector<Value> add_node(const c10::OperatorHandle& op, const OperatorInfo& info,
                              std::span<const c10::IValue> args,
                              const std::vector<c10::IValue>& results,
                              std::span<const Device> devices);

  // Whether its decomposition applies to these arguments, and whether that is recorded in its
  // place.
  static bool has_parts(const OperatorInfo& info, const Stack& stack);
  bool comes_apart(const OperatorInfo& info) const;

  Numerics numerics_;
  bool sizes_are_open_;
  Graph graph_{"joint"};
  Evaluator evaluator_{graph_};
  std::vector<Read> reads_;
  bool trusts_indices_ = false;
  // Index, size, wraps, ignored.
  HashSet<std::tuple<Value, int64_t, bool, std::optional<int64_t>>> checked_;
  bool draws_ = false;
  OperatorTable operators_;
  ViewTable views_;
  bool met_lazy_views_ = false;
  std::vector<const Decomposition*> decomposing_;  // those that joined and are running
  std::string origin_;  // the operator whose decomposition is running; else empty
};

}  // namespace aten_bridge
