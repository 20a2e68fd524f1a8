// Compiles what a C++ function computes with tensors; no Python in the process.
//
//   #include <torchdyn/compile.h>
//   auto loss = torchdyn::compile([](Model& m, const Tensor& x, const Tensor& y) {
//     return torch::nn::functional::cross_entropy(m->forward(x), y);
//   });
//   loss(model, x, y).backward();   // the first call captures and compiles; later calls run
//   kernels std::cout << torchdyn::explain(loss);
//
// The returned callable takes the function's arguments and gives its results, equal to eager's.
// What a call depended on is guarded; when a guard fails, the function is captured again. What
// cannot be captured or compiled runs in eager, with the reason in explain(); see
// Options::fullgraph. Any number of threads may call one compiled function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten_bridge/base/numerics.h"
#include "torchdyn/arguments.h"

namespace torchdyn {

// A tensor or a module that the function uses without getting it as an argument (a closure's
// capture). A copy of the handle is kept; a tensor that is put in its place later is not seen.
class State {
 public:
  State(at::Tensor tensor) : tensor(std::move(tensor)) {}  // NOLINT: implicit on purpose
  State(std::shared_ptr<torch::nn::Module> module) : module(std::move(module)) {}  // NOLINT
  template <class Impl>
  State(const torch::nn::ModuleHolder<Impl>& holder) : module(holder.ptr()) {}  // NOLINT

  at::Tensor tensor;
  std::shared_ptr<torch::nn::Module> module;
};

using aten_bridge::Numerics;

// The options of one compiled function. Rows of options.def become members with their defaults:
//   Options options;
//   options.fullgraph = true;        // an error where the function cannot be captured whole
//   options.recompile_limit = 16;    // variants (one a set of guards); further calls run in eager
//   options.numerics = Numerics::kEager;  // pointwise results have eager's bits
//   options.freezing = true;         // weights are constants where nothing is trained
//   options.strict = true;           // a fault of this library is an InternalFailure
//   options.state = {weights};       // tensors and modules that a closure has captured
//
// Under freezing, what depends on parameters and buffers alone (of module arguments and of `state`)
// is computed once, and BatchNorm's scale and shift go into the weights before it, which rounds
// otherwise. One that is changed in place, or replaced, is seen and compiled anew; a change that
// LibTorch's version counters do not see (through .data) is not.
//
// Numerics::kDefault computes functions and formulas of its own, as near to the exact result as
// eager's. Numerics::kEager keeps eager's functions, casts, roundings and contractions: an operator
// whose bits a kernel does not have on that device and dtype is ATen's own call, and so are
// normalisations, softmax and losses. The bits of NaN are not kept. Sums, means and sums by index
// keep eager's dtypes and casts and may add in another order.
struct Options {
#define OPTION(name, type, value, doc) type name = value;
#include "aten_bridge/base/options.def"
#undef OPTION
  std::vector<State> state = {};

  // Sets an option from text: set("fullgraph", "true"). std::invalid_argument names the valid ones.
  void set(std::string_view name, std::string_view value);
  // The rows as text: "fullgraph=false strict=false ..."; each part reads back through set().
  std::string str() const;
};

// Thrown under Options::fullgraph; what() is the reason.
class CaptureFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown under Options::strict where a check of this library on itself fails or a compiler rejects
// one of its kernels; what() says which, and in which folder a repro is (torchdyn/replay/replay.h).
class InternalFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What became of a compiled function's calls so far.
struct Explanation {
  struct Kernel {
    std::string name;
    std::vector<std::string> origins;  // operators fused into it, as the program called them
    int launches = 0;                  // a call
    int64_t bytes = 0;                 // read and written by a launch, estimated
  };
  struct Graph {
    std::string name;  // "forward", "backward"
    std::string text;  // aten_bridge/graph/text.h
    std::vector<Kernel> kernels;
    std::vector<std::string> extern_calls;  // ATen operators called, in order
    std::vector<std::string> not_fused;     // why neighbours stayed apart
    std::vector<std::string> rejected;      // kernels that the compiler did not take, and why
  };
  struct Variant {
    std::vector<std::string> guards;
    std::string eager_reason;  // empty: compiled
    std::vector<Graph> graphs;
    std::string fixed_reason;  // why sizes that were to be dynamic are not; empty: they are
    // Whether calls are CUDA graphs, and why not; empty where they never are: on the CPU, with
    // sizes that vary, without Options::cudagraphs.
    std::string replay;
    double capture_ms = 0, compile_ms = 0;
  };
  std::vector<Variant> variants;
  std::vector<std::string> recompile_reasons;
  std::vector<std::string> refusals;  // why calls ran in eager for which no variant was made

  int kernel_launches() const;  // a call of every variant, forward and backward
  std::string str() const;
};
std::ostream& operator<<(std::ostream& out, const Explanation& explanation);

struct DynamicSizes;   // dynamic_sizes.h
struct VariantToSave;  // package/save.h

namespace internal {

struct Constant {
  std::uint64_t bits;
  int argument;
};

// The parts of one call's arguments, in order.
struct Leaves {
  std::vector<at::Tensor> tensors;  // defined
  std::vector<int> tensor_arguments;
  std::vector<int> parameters;  // those of `tensors` that are parameters or buffers
  std::vector<Constant> constants;
  std::vector<int64_t> numbers;  // what sizes may depend on, apart from the constants
  std::vector<const torch::nn::Module*> modules;
  std::vector<int> module_arguments;
  int argument = 0;

  void tensor(const at::Tensor& t) {
    constant(t.defined());
    if (!t.defined()) return;
    tensors.push_back(t);
    tensor_arguments.push_back(argument);
  }
  void constant(std::uint64_t bits) { constants.push_back({bits, argument}); }
  void module(const torch::nn::Module& m) {
    modules.push_back(&m);
    module_arguments.push_back(argument);
  }
};

// Puts tensors from a list in place of the defined ones of a value, in order.
struct Replacer {
  const std::vector<at::Tensor>& tensors;
  size_t next = 0;

  void tensor(at::Tensor& t) {
    if (t.defined()) t = tensors[next++];
  }
  void constant(std::uint64_t) {}
  void module(const torch::nn::Module&) {}
};

struct Traced {
  std::vector<at::Tensor> tensors;        // the defined tensors of the result
  std::vector<int64_t> numbers;           // what of the result may depend on sizes
  std::shared_ptr<const void> prototype;  // the result itself, its tensors to be replaced
};

// A borrowed callable: what the engine calls to trace. `numbers` are in the place of Leaves'.
struct TraceRef {
  Traced (*call)(void* self, const std::vector<at::Tensor>& tensors,
                 const std::vector<int64_t>& numbers);
  void* self;
};

struct Answer {
  bool compiled = false;        // else: run eager
  std::string unproven_reason;  // and tell Engine::eager_succeeded this when eager did not throw
  std::vector<at::Tensor> tensors;  // of the result
  std::vector<int64_t> numbers;     // of the result
  const void* prototype = nullptr;
};

bool capturing();
[[noreturn]] void argument_was_assigned();
at::Tensor placeholder();  // for a tensor that a prototype must not hold on to

// All of a compiled function that does not depend on its type.
class Engine {
 public:
  explicit Engine(Options options);
  ~Engine();
  // `sizes`: what may change without another capture; null: nothing. Looked at when it captures.
  Answer call(Leaves& leaves, TraceRef trace, const DynamicSizes* sizes = nullptr);
  void eager_succeeded(Leaves& leaves, std::string reason);
  Explanation explain() const;
  // package.h
  std::vector<VariantToSave> variants_to_save() const;
  Numerics numerics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// How an argument is kept for the trace: modules by reference, all else as a copy.
template <class T>
using Kept = std::conditional_t<std::is_base_of_v<torch::nn::Module, std::decay_t<T>>,
                                std::remove_reference_t<T>&, std::decay_t<T>>;

// Raises when the function assigned to an argument that it got by reference.
template <class Arg, class T>
void check_unassigned(const T& before, const T& after) {
  if constexpr (std::is_lvalue_reference_v<Arg> && !std::is_const_v<std::remove_reference_t<Arg>> &&
                !std::is_base_of_v<torch::nn::Module, T>) {
    Leaves a, b;
    visit_argument(before, a);
    visit_argument(after, b);
    bool same = a.tensors.size() == b.tensors.size() && a.constants.size() == b.constants.size() &&
                a.modules == b.modules;
    for (size_t i = 0; same && i < a.tensors.size(); ++i) same = a.tensors[i].is_same(b.tensors[i]);
    for (size_t i = 0; same && i < a.constants.size(); ++i)
      same = a.constants[i].bits == b.constants[i].bits;
    if (!same) argument_was_assigned();
  }
}

}  // namespace internal

// What compile() returns: callable with the function's arguments; copies share what was compiled.
template <class F>
class Compiled {
 public:
  Compiled(F function, Options options)
      : function_(std::make_shared<F>(std::move(function))),
        engine_(std::make_shared<internal::Engine>(std::move(options))) {}

  template <class... Args>
  std::invoke_result_t<F&, Args...> operator()(Args&&... args) const {
    using Result = std::invoke_result_t<F&, Args...>;
    static_assert(!std::is_reference_v<Result>, "a compiled function returns by value");
    if (internal::capturing()) return std::invoke(*function_, std::forward<Args>(args)...);

    internal::Leaves leaves;
    ((visit_argument(std::as_const(args), leaves), ++leaves.argument), ...);
    auto trace = [&](const std::vector<at::Tensor>& fakes) {
      return trace_call<Result, Args...>(fakes, args...);
    };
    internal::Answer answer = engine_->call(leaves, reference(trace));
    if (!answer.compiled) {
      if (answer.unproven_reason.empty())
        return std::invoke(*function_, std::forward<Args>(args)...);
      if constexpr (std::is_void_v<Result>) {
        std::invoke(*function_, std::forward<Args>(args)...);
        engine_->eager_succeeded(leaves, answer.unproven_reason);
        return;
      } else {
        Result result = std::invoke(*function_, std::forward<Args>(args)...);
        engine_->eager_succeeded(leaves, answer.unproven_reason);
        return result;
      }
    }
    if constexpr (!std::is_void_v<Result>) {
      Result result = *static_cast<const Result*>(answer.prototype);
      internal::Replacer replacer{answer.tensors};
      visit_argument(result, replacer);
      return result;
    }
  }

  Explanation explain() const { return engine_->explain(); }
  const std::shared_ptr<internal::Engine>& engine() const { return engine_; }  // package.h

 private:
  template <class Trace>
  static internal::TraceRef reference(Trace& trace) {
    return {[](void* self, const std::vector<at::Tensor>& fakes, const std::vector<int64_t>&) {
              return (*static_cast<Trace*>(self))(fakes);
            },
            &trace};
  }

  // Runs the function once on copies of the arguments that hold the fakes.
  template <class Result, class... Args>
  internal::Traced trace_call(const std::vector<at::Tensor>& fakes,
                              std::remove_reference_t<Args>&... args) const {
    std::tuple<internal::Kept<Args>...> kept(args...);
    internal::Replacer replacer{fakes};
    std::apply([&](auto&... item) { (replace(item, replacer), ...); }, kept);
    const std::tuple<internal::Kept<Args>...> before = kept;
    auto invoke = [&](auto&... item) -> Result {
      return std::invoke(*function_, static_cast<Args&&>(item)...);
    };
    internal::Traced traced;
    if constexpr (std::is_void_v<Result>) {
      std::apply(invoke, kept);
    } else {
      auto result = std::make_shared<Result>(std::apply(invoke, kept));
      internal::Leaves leaves;
      visit_argument(std::as_const(*result), leaves);
      traced.tensors = std::move(leaves.tensors);
      // The prototype outlives the capture: it must not hold on to fakes.
      std::vector<at::Tensor> placeholders(traced.tensors.size(), internal::placeholder());
      internal::Replacer release{placeholders};
      visit_argument(*result, release);
      traced.prototype = std::move(result);
    }
    check_all<Args...>(before, kept, std::index_sequence_for<Args...>{});
    return traced;
  }

  template <class T>
  static void replace(T& item, internal::Replacer& replacer) {
    if constexpr (!std::is_base_of_v<torch::nn::Module, T>) visit_argument(item, replacer);
  }

  template <class... Args, class Tuple, size_t... I>
  static void check_all(const Tuple& before, const Tuple& after, std::index_sequence<I...>) {
    (internal::check_unassigned<Args>(std::get<I>(before), std::get<I>(after)), ...);
  }

  std::shared_ptr<F> function_;
  std::shared_ptr<internal::Engine> engine_;
};

// Compiles a function, a function object or a lambda. A module (its holder or a shared_ptr to it)
// compiles its forward.
template <class F>
auto compile(F function, Options options = {}) {
  if constexpr (std::is_base_of_v<torch::detail::ModuleHolderIndicator, F>) {
    options.state.emplace_back(function);
    auto forward = [function](auto&&... args) mutable {
      return function->forward(std::forward<decltype(args)>(args)...);
    };
    return Compiled<decltype(forward)>(std::move(forward), std::move(options));
  } else {
    return Compiled<std::decay_t<F>>(std::move(function), std::move(options));
  }
}

template <class M, std::enable_if_t<std::is_base_of_v<torch::nn::Module, M>, int> = 0>
auto compile(std::shared_ptr<M> module, Options options = {}) {
  return compile(torch::nn::ModuleHolder<M>(std::move(module)), std::move(options));
}

template <class F>
Explanation explain(const Compiled<F>& compiled) {
  return compiled.explain();
}

}  // namespace torchdyn
