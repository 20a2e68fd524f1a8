// What a variant runs: a captured function, compiled, for one set of sizes or for any.
//   Program program(std::move(captured), std::move(saved), std::move(numbers), compiled, {}, false,
//                   true, [](const aten_bridge::InternalError&) {});
//   Program::Results results = program.run(/*sizes=*/{}, inputs);
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/autograd/compiled_function.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/symbolic/fit.h"
#include "aten_bridge/trace/capture.h"
#include "inductor/runtime/aten/replay.h"
#include "inductor/runtime/aten/replay_training.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace torchdyn {

// Where the compiled backward takes some tangents alone: which, and how the one that takes all is
// compiled, at most once; null where the world says no.
struct OtherBackward {
  std::vector<bool> given;
  std::function<std::shared_ptr<const inductor::CompiledGraph>()> of_all;  // null: there is none
};

class Program {
 public:
  using CompiledGraphs = std::span<const std::shared_ptr<const inductor::CompiledGraph>>;
  // `compiled`: forward, and backward where the capture has tangents. `numbers`: of the result.
  // `has_symbols`: every run says their values. `replays`: calls may become one CUDA graph.
  // `broken` as in CompiledFunction.
  Program(aten_bridge::Captured captured, std::vector<aten_bridge::SavedValue> saved,
          std::vector<aten_bridge::SymExpr> numbers, CompiledGraphs compiled, OtherBackward other,
          bool has_symbols, bool replays,
          std::function<void(const aten_bridge::InternalError&)> broken);

  struct Results {
    std::vector<at::Tensor> tensors;
    std::vector<int64_t> numbers;
  };
  // `sizes`: the values of s0, s1, ...; empty where there are no symbols. Changes the inputs that
  // the function changes. AssumptionFailed: what capture read from values is otherwise now; nothing
  // has changed then.
  Results run(const aten_bridge::Samples& sizes, std::span<const at::Tensor> inputs) const;
  // What it is made of, for a package.
  const aten_bridge::Captured& captured() const { return *captured_; }
  const std::vector<aten_bridge::SavedValue>& saved() const { return saved_; }
  const std::vector<bool>& given() const { return other_.given; }
  // Explanation::Variant::replay
  std::string replay() const;

 private:
  // All that depends on sizes, at given ones.
  struct Sized {
    std::shared_ptr<const aten_bridge::CompiledFunction> function;
    std::vector<aten_bridge::ResultSource> results;
    std::vector<int64_t> numbers;
  };
  std::shared_ptr<const Sized> at(const aten_bridge::Samples& sizes) const;
  std::shared_ptr<const Sized> make(const aten_bridge::Samples& sizes) const;
  std::vector<at::Tensor> run_checked(const Sized& sized, std::vector<at::Tensor> primals) const;

  const std::shared_ptr<const aten_bridge::Captured> captured_;
  const std::vector<std::vector<int>> tangents_of_;  // gradients
  const std::vector<aten_bridge::SavedValue> saved_;
  const std::vector<aten_bridge::SymExpr> numbers_;
  const std::vector<std::shared_ptr<const inductor::CompiledGraph>> compiled_;
  // On a GPU, at one set of sizes (each would have a pool of memory), where it is wanted: what
  // trains nothing, or what does. Null otherwise.
  const std::shared_ptr<inductor::ReplayedGraph> replayed_;
  const std::shared_ptr<inductor::ReplayedTraining> replayed_training_;
  const OtherBackward other_;
  const std::function<void(const aten_bridge::InternalError&)> broken_;

  std::shared_ptr<const Sized> fixed_;  // where there are no symbols
  mutable std::mutex mutex_;
  mutable aten_bridge::HashMap<aten_bridge::Samples, std::shared_ptr<const Sized>> by_sizes_;
};

}  // namespace torchdyn
