// Every row of guard_kinds.def passes on what was recorded, and fails on one change that only it
// sees.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/guards/tensor_guards.h"

namespace aten_bridge {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

// x is an argument, state a module's tensor: held by the list and by `member`.
struct Scene {
  Tensors inputs{at::zeros({8, 4}), at::zeros({3})};
  Tensor member = inputs[1];
  std::vector<std::string> names{"x", "state"};
};

struct Case {
  std::function<std::shared_ptr<void>(Scene&)> change;  // what it returns keeps the change alive
  std::string says;
  std::function<void(Scene&)> before = [](Scene&) {};
};

// Runs `undo` when the change is over.
std::shared_ptr<void> until_end(std::function<void()> undo) {
  return std::shared_ptr<void>(nullptr, [undo](void*) { undo(); });
}

std::shared_ptr<void> set_input(Scene& scene, Tensor x) {
  scene.inputs[0] = std::move(x);
  return nullptr;
}

// A device's index is seen where its dispatch keys are the same.
Tensor on_device(int index) {
  const at::Device device(at::kMeta, index);
  c10::Storage storage(c10::Storage::use_byte_size_t(), 128, c10::DataPtr(nullptr, device), nullptr,
                       /*resizable=*/false);
  Tensor t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                      c10::DispatchKeySet(c10::DispatchKey::Meta),
                                                      c10::scalarTypeToTypeMeta(at::kFloat));
  t.unsafeGetTensorImpl()->set_sizes_contiguous({8, 4});
  return t;
}

const std::map<std::string, Case> kCases = {
    {"GradMode",
     {[](Scene&) { return std::make_shared<c10::AutoGradMode>(false); },
      "grad mode is off, was on"}},
    {"InferenceMode",
     {[](Scene&) {
        c10::AutogradState::get_tls_state().set_inference_mode(true);
        return until_end([] { c10::AutogradState::get_tls_state().set_inference_mode(false); });
      },
      "inference mode is on, was off"}},
    {"DispatchModes",
     {[](Scene&) {
        return std::make_shared<c10::impl::IncludeDispatchKeyGuard>(
            c10::DispatchKey::TESTING_ONLY_GenericMode);
      },
      "TESTING_ONLY_GenericMode"}},
    {"Autocast",
     {[](Scene&) {
        const auto was = at::autocast::get_autocast_dtype(at::kCPU);
        at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
        return until_end([was] { at::autocast::set_autocast_dtype(at::kCPU, was); });
      },
      "cpu off Half"}},
    {"DefaultDtype",
     {[](Scene&) {
        const auto was = c10::get_default_dtype();
        c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
        return until_end([was] { c10::set_default_dtype(was); });
      },
      "default dtype is Double, was Float"}},
    {"Deterministic",
     {[](Scene&) {
        at::globalContext().setDeterministicAlgorithms(true, false);
        return until_end([] { at::globalContext().setDeterministicAlgorithms(false, false); });
      },
      "deterministic algorithms is on, was off"}},
    {"Libraries",
     {[](Scene&) {
        at::globalContext().setSDPUseFlash(false);
        return until_end([] { at::globalContext().setSDPUseFlash(true); });
      },
      "attention kernels"}},
#if defined(__SSE2__)
    {"Denormals",
     {[](Scene&) {
        at::globalContext().setFlushDenormal(true);
        return until_end([] { at::globalContext().setFlushDenormal(false); });
      },
      "flush-denormals is on, was off"}},
#endif
    {"DispatchKeys",
     {[](Scene& s) {
        return set_input(s, at::_neg_view(at::zeros({8, 4})));
      },
      "x: dispatch keys"}},
    {"Dtype",
     {[](Scene& s) {
        return set_input(s, at::zeros({8, 4}, at::kDouble));
      },
      "x: dtype is Double, was Float"}},
    {"OnDevice",
     {[](Scene& s) { return set_input(s, on_device(1)); }, "x: device is meta:1, was meta:0",
      [](Scene& s) { set_input(s, on_device(0)); }}},
    {"RequiresGrad",
     {[](Scene& s) {
        return set_input(s, at::zeros({8, 4}).set_requires_grad(true));
      },
      "x: requires_grad is true, was false"}},
    {"Sizes",
     {[](Scene& s) {
        return set_input(s, at::zeros({7, 4}));
      },
      "x: size of dimension 0 is 7, was 8"}},
    {"Strides",
     {[](Scene& s) {
        return set_input(s, at::zeros({4, 8}).t());
      },
      "x: stride of dimension 0 is 1, was 4"}},
    {"Gradient",
     {[](Scene& s) {
        s.member.mutable_grad() = at::zeros({3});
        return nullptr;
      },
      "state: its gradient is defined, was undefined"}},
    {"Handles",
     {[](Scene& s) {
        s.member = at::zeros({3});
        return nullptr;
      },
      "state: handles on the tensor are 1, were 2"}},
    {"SharedMemory",
     {[](Scene& s) {
        const Tensor whole = at::zeros({34});
        s.inputs[0] = whole.narrow(0, 0, 32).view({8, 4});
        s.inputs[1] = s.member = whole.narrow(0, 31, 3);
        return nullptr;
      },
      "memory shared among the inputs is x and state (124 bytes apart), was none"}},
};

class EveryKind : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryKind, HoldsAsRecordedAndFailsOnAChange) {
  const auto it = kCases.find(std::string(GetParam()));
  ASSERT_NE(it, kCases.end()) << "no case for " << GetParam();
  Scene scene;
  it->second.before(scene);
  const auto guards = InputGuards::record(scene.inputs, scene.names, /*first_state=*/1);
  EXPECT_TRUE(guards.check(scene.inputs));
  EXPECT_EQ(guards.explain_failure(scene.inputs), "");
  {
    const auto changed = it->second.change(scene);
    EXPECT_FALSE(guards.check(scene.inputs));
    EXPECT_THAT(guards.explain_failure(scene.inputs), testing::HasSubstr(it->second.says));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryKind,
                         testing::ValuesIn(guard_kinds().begin(), guard_kinds().end()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace aten_bridge
