#include "aten_bridge/trace/scope.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/SavedTensorHooks.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "aten_bridge/trace/capture.h"

namespace aten_bridge {
namespace {

constexpr auto kSlot = c10::DebugInfoKind::TEST_INFO_2;  // PyTorch itself does not use it

struct Current : c10::DebugInfoBase {
  Current(Recorder& recorder, Substitution& substitution)
      : recorder(&recorder), substitution(&substitution) {}
  Recorder* recorder;
  Substitution* substitution;
};

Current* current() { return static_cast<Current*>(c10::ThreadLocalDebugInfo::get(kSlot)); }

}  // namespace

// The program's hooks on saved tensors wait for the tensors of a run.
struct NoSavedTensorHooks {
  const bool before = at::SavedTensorDefaultHooks::set_tracing(true);
  ~NoSavedTensorHooks() { at::SavedTensorDefaultHooks::set_tracing(before); }
};

// Leaves in the reverse order of entering.
struct CaptureScope::Keys {
  explicit Keys(std::shared_ptr<Current> current) : slot(kSlot, std::move(current)) {}

  c10::DebugInfoGuard slot;
  NoSavedTensorHooks no_hooks;
  at::functionalization::impl::FunctionalizationReapplyViewsGuard views_stay_views{true};
  c10::impl::IncludeDispatchKeyGuard keys{c10::DispatchKeySet(
      {c10::DispatchKey::DeferredInit, c10::DispatchKey::Functionalize, c10::DispatchKey::Fake})};
};

CaptureScope::CaptureScope(Recorder& recorder, Substitution& substitution)
    : keys_(std::make_unique<Keys>(std::make_shared<Current>(recorder, substitution))) {}

CaptureScope::~CaptureScope() = default;

Recorder* CaptureScope::recorder() {
  Current* scope = current();
  return scope == nullptr ? nullptr : scope->recorder;
}

Substitution* CaptureScope::substitution() {
  Current* scope = current();
  return scope == nullptr ? nullptr : scope->substitution;
}

bool capturing() { return CaptureScope::recorder() != nullptr; }

}  // namespace aten_bridge
