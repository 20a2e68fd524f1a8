// The DeferredInit key: wherever the program meets one of the real inputs, its stand-in takes the
// place.
//   Substitution stand_ins(inputs, recorder);
//   callable(stand_ins.wrappers());
//   stand_ins.call(op, keys, stack);      // every operator of the program comes by here first
//
// A stand-in is a functional wrapper around a fake, a leaf that requires grad where the input does.
// Real tensors that are no inputs are refused here, before anything runs; operators whose schema
// hides a mutation are called by their honest names (rewrites.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/operator_info.h"
#include "aten_bridge/trace/recorder.h"

namespace at {
class Tensor;
}
namespace c10 {
class DispatchKeySet;
class OperatorHandle;
struct TensorImpl;
}  // namespace c10

namespace aten_bridge {

class Substitution {
 public:
  Substitution(const CaptureInputs& inputs, Recorder& recorder);
  ~Substitution();

  // The capture's inputs, and behind them the constants that the program has made meanwhile.
  const Tensors& tensors() const { return tensors_; }
  const std::vector<std::string>& names() const { return names_; }
  size_t constants() const { return constants_; }
  const Tensors& wrappers() const { return wrappers_; }
  const Tensors& fakes() const { return fakes_; }  // as they were before the program ran

  // The input that a tensor is, real or stand-in; -1: none.
  int find(const at::Tensor& tensor) const;

  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack);

  // An input whose stand-in was asked for its gradient: it has none to tell of.
  std::optional<std::string> asked_for_gradient() const;
  // Whether any operator went through autocast.
  bool met_autocast() const { return met_autocast_; }
  // The operator that made a tensor which is still alive once the capture's own references are
  // gone.
  std::optional<std::string> leaked() const;

 private:
  struct Made;
  at::Tensor stand_in(const at::Tensor& tensor, const std::string& op) const;
  void refuse_other_dtype(const OperatorInfo& info, std::span<const c10::IValue> results) const;
  void refuse_update_of_parameter(const c10::OperatorHandle& op, const OperatorInfo& info,
                                  const Stack& stack) const;
  void refuse_state_of_optimizer(const OperatorInfo& info, const c10::IValue& self) const;

  // A tensor that the program has just made from numbers, below our keys.
  at::Tensor lift(const at::Tensor& constant);
  void add(const at::Tensor& real, std::string name, const TensorType* as = nullptr);

  Recorder& recorder_;
  Tensors tensors_;
  std::vector<std::string> names_;
  size_t constants_ = 0;
  Tensors fakes_;
  Tensors wrappers_;
  std::vector<std::shared_ptr<bool>> asked_;    // for the gradient of each input
  HashMap<const c10::TensorImpl*, int> index_;  // of real inputs and of wrappers
  OperatorTable operators_;
  std::vector<Made> made_;
  bool met_autocast_ = false;
};

}  // namespace aten_bridge
