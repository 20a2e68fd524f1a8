// What each row of guard_kinds.def reads and compares.
//   kinds::Dtype::Value was = kinds::Dtype::read(x);
//   if (!kinds::Dtype::holds(was, y)) say(kinds::Dtype::text(kinds::Dtype::read(y)));
//
// holds() is the hot path: noexcept, no allocation. text() is the slow one.
#pragma once

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aten_bridge::kinds {

inline std::string on_off(bool on) { return on ? "on" : "off"; }
inline std::string bits(uint32_t flags) { return absl::StrCat("0x", absl::Hex(flags)); }

// ---- The thread and the process: nothing to read from but themselves
// -------------------------------

template <class Kind>
struct Global {
  template <class Value>
  static bool holds(const Value& was) noexcept {
    return Kind::read() == was;
  }
};

struct GradMode : Global<GradMode> {
  using Value = bool;
  static Value read() noexcept { return c10::GradMode::is_enabled(); }
  static std::string text(Value on) { return on_off(on); }
};

struct InferenceMode : Global<InferenceMode> {
  using Value = bool;
  static Value read() noexcept { return c10::InferenceMode::is_enabled(); }
  static std::string text(Value on) { return on_off(on); }
};

// Whatever works by dispatch keys: autocast, functional transforms, tracing, Python modes.
struct DispatchModes : Global<DispatchModes> {
  using Value = std::array<uint64_t, 2>;
  static Value read() noexcept {
    const auto keys = c10::impl::tls_local_dispatch_key_set();
    return {keys.included_.raw_repr(), keys.excluded_.raw_repr()};
  }
  static std::string text(const Value& v) {
    return absl::StrCat("+", c10::toString(c10::DispatchKeySet(c10::DispatchKeySet::RAW, v[0])),
                        " -", c10::toString(c10::DispatchKeySet(c10::DispatchKeySet::RAW, v[1])));
  }
};

struct Autocast : Global<Autocast> {
  static constexpr at::DeviceType kDevices[] = {at::kCPU, at::kCUDA};
  struct Value {
    std::array<bool, 2> on;
    std::array<at::ScalarType, 2> dtype;
    bool operator==(const Value&) const = default;
  };
  static Value read() noexcept {
    Value v;
    for (size_t i = 0; i < v.on.size(); ++i) {
      v.on[i] = at::autocast::is_autocast_enabled(kDevices[i]);
      v.dtype[i] = at::autocast::get_autocast_dtype(kDevices[i]);
    }
    return v;
  }
  static std::string text(const Value& v) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < v.on.size(); ++i)
      parts.push_back(absl::StrCat(c10::DeviceTypeName(kDevices[i], /*lower_case=*/true), " ",
                                   on_off(v.on[i]), " ", c10::toString(v.dtype[i])));
    return absl::StrJoin(parts, ", ");
  }
};

struct DefaultDtype : Global<DefaultDtype> {
  using Value = at::ScalarType;
  static Value read() noexcept { return c10::get_default_dtype_as_scalartype(); }
  static std::string text(Value v) { return c10::toString(v); }
};

struct Deterministic : Global<Deterministic> {
  using Value = uint32_t;
  static Value read() noexcept {
    const at::Context& c = at::globalContext();
    return c.deterministicAlgorithms() | c.deterministicAlgorithmsWarnOnly() << 1 |
           c.deterministicFillUninitializedMemory() << 2;
  }
  static std::string text(Value v) {
    return absl::StrCat(on_off(v & 1), v & 2 ? " (warn only)" : "",
                        v & 4 ? "" : " (memory not filled)");
  }
};

// Those that decide which operators a composite becomes. What an extern call reads when it runs
// (TF32, benchmark mode) needs no guard.
struct Libraries : Global<Libraries> {
  using Value = uint32_t;
  static Value read() noexcept {
    const at::Context& c = at::globalContext();
    return c.userEnabledCuDNN() | c.userEnabledMkldnn() << 1 | c.userEnabledNNPACK() << 2 |
           c.userEnabledFlashSDP() << 3 | c.userEnabledMemEfficientSDP() << 4 |
           c.userEnabledMathSDP() << 5 | c.userEnabledCuDNNSDP() << 6;
  }
  static std::string text(Value v) { return bits(v); }
};

struct Denormals : Global<Denormals> {
  using Value = uint32_t;
  static Value read() noexcept {
#if defined(__SSE2__)
    return _mm_getcsr() & 0x8040;  // flush to zero, denormals are zero
#else
    return 0;
#endif
  }
  static std::string text(Value v) { return on_off(v != 0); }
};

// ---- One tensor
// ------------------------------------------------------------------------------------

template <class Kind>
struct OfTensor {
  template <class Value>
  static bool holds(const Value& was, const at::Tensor& t) noexcept {
    return Kind::read(t) == was;
  }
  // "dtype is Double, was Float"
  template <class Value>
  static std::string difference(const char* what, const Value& was, const at::Tensor& t) {
    return absl::StrCat(what, " is ", Kind::text(Kind::read(t)), ", was ", Kind::text(was));
  }
};

// Backend, layout, subclass, conjugate and negative views, inference tensors, defined at all.
struct DispatchKeys : OfTensor<DispatchKeys> {
  using Value = uint64_t;
  static Value read(const at::Tensor& t) noexcept { return t.key_set().raw_repr(); }
  static std::string text(Value v) {
    return c10::toString(c10::DispatchKeySet(c10::DispatchKeySet::RAW, v));
  }
};

struct Dtype : OfTensor<Dtype> {
  using Value = at::ScalarType;
  static Value read(const at::Tensor& t) noexcept { return t.scalar_type(); }
  static std::string text(Value v) { return c10::toString(v); }
};

struct OnDevice : OfTensor<OnDevice> {
  using Value = at::Device;
  static Value read(const at::Tensor& t) noexcept { return t.device(); }
  static std::string text(Value v) { return v.str(); }
};

struct RequiresGrad : OfTensor<RequiresGrad> {
  using Value = bool;
  static Value read(const at::Tensor& t) noexcept { return t.requires_grad(); }
  static std::string text(Value v) { return v ? "true" : "false"; }
};

template <class Kind>
struct Extents {
  using Value = at::DimVector;
  static bool holds(const Value& was, const at::Tensor& t) noexcept {
    return Kind::list(t) == at::IntArrayRef(was);
  }
  static Value read(const at::Tensor& t) { return Value(Kind::list(t)); }
  static std::string text(const Value& v) { return absl::StrCat("[", absl::StrJoin(v, ", "), "]"); }
  static std::string difference(const char* what, const Value& was, const at::Tensor& t) {
    const auto now = Kind::list(t);
    if (now.size() != was.size())
      return absl::StrCat(what, " is ", text(Value(now)), ", was ", text(was));
    size_t d = 0;
    while (now[d] == was[d]) ++d;
    return absl::StrCat(what, " of dimension ", d, " is ", now[d], ", was ", was[d]);
  }
};

// Some kinds of tensors throw when they are asked: what they are, the dispatch keys told already.
struct Sizes : Extents<Sizes> {
  static at::IntArrayRef list(const at::Tensor& t) noexcept {
    const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
    return impl.is_nested() || impl.has_symbolic_sizes_strides() ? at::IntArrayRef() : t.sizes();
  }
};

struct Strides : Extents<Strides> {
  static at::IntArrayRef list(const at::Tensor& t) noexcept {
    const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
    const bool plain = impl.layout() == at::kStrided && !impl.is_nested();
    return plain && !impl.has_symbolic_sizes_strides() ? t.strides() : at::IntArrayRef();
  }
};

// ---- One tensor of declared state
// ------------------------------------------------------------------

// The program may look whether a tensor has a gradient, and reset one (a module's zero_grad): what
// it does with none is not what it does with one.
struct Gradient {
  using Value = bool;
  static Value read(const at::Tensor& t) noexcept {
    return t.unsafeGetTensorImpl()->grad().defined();
  }
  static bool holds(Value was, const at::Tensor& t) noexcept { return read(t) == was; }
  static std::string text(Value v) { return v ? "defined" : "undefined"; }
  static std::string difference(const char* what, Value was, const at::Tensor& t) {
    return absl::StrCat("its ", what, " is ", text(read(t)), ", was ", text(was));
  }
};

// A module's member is a handle of its own beside the registered one; when it is given another
// tensor, nothing changes but that the registered tensor has one handle less. So fewer handles than
// at capture mean: look again. The accumulator of a graph that is alive holds one too and is not
// counted. Whoever else took a handle since (an optimizer made later) hides the change.
struct Handles {
  using Value = int64_t;
  static Value read(const at::Tensor& t) noexcept;
  static bool holds(Value was, const at::Tensor& t) noexcept { return read(t) >= was; }
  static std::string text(Value v) { return absl::StrCat(v, " or more"); }
  static std::string difference(const char* what, Value was, const at::Tensor& t) {
    return absl::StrCat(what, " on the tensor are ", read(t), ", were ", was,
                        ": a module's member may have been given another tensor");
  }
};

// ---- All tensors together
// --------------------------------------------------------------------------

// Which pairs overlap, and how far apart they begin. Tensors of different storages are taken as
// apart.
struct SharedMemory {
  struct Pair {
    int first, second;
    int64_t bytes_apart;
    bool operator==(const Pair&) const = default;
  };
  using Value = std::vector<Pair>;
  static Value read(std::span<const at::Tensor> tensors);
  static bool holds(const Value& was, std::span<const at::Tensor> tensors) noexcept;
  static bool holds(const Value& was, std::span<const at::Tensor* const> tensors) noexcept;
  static std::string text(const Value& v, std::span<const std::string> names);
};

}  // namespace aten_bridge::kinds
