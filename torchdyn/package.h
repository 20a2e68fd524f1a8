// A compiled function as one file that another process runs with no compiler, no Python and no
// cache.
//
//   #include <torchdyn/package.h>
//   auto forward = torchdyn::compile(model);
//   { at::NoGradGuard no_grad; forward(x); }              // what was called is what is kept
//   torchdyn::save(forward, "model.td");
//
//   const torchdyn::Package package = torchdyn::load("model.td");   // elsewhere
//   at::Tensor y = package({x})[0];                       // the bits that `forward` gives
//
// A package holds machine code: load those that you trust. Its bytes: torchdyn/package/format.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "torchdyn/compile.h"

namespace torchdyn {

// What cannot be saved, loaded or called, and why.
class PackageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct SaveOptions {
  // "adamw lr=0.001 weight_decay=0.1": the package brings this optimizer, its step as kernels of
  // its own and its state; see Trainer. Empty: none.
  std::string optimizer;
  // What kernels are built for, the best first; the first that a machine is will be loaded there.
  // "x86-64", "x86-64-v3" (AVX2), "x86-64-v4" (AVX-512); for a GPU "sm_90", and "compute_80", which
  // is PTX for all later ones. Empty: machines like this one.
  std::vector<std::string> targets;
};

// One of a package's functions.
struct Method {
  template <class F>
  Method(std::string name, const Compiled<F>& compiled)
      : name(std::move(name)), engine(compiled.engine()) {}

  std::string name;
  std::shared_ptr<const internal::Engine> engine;
};

// Several functions in one file, under different names; they may be of one model or of several. A
// tensor that several hold is kept once; where another one has its name, it gets its method's, too:
// "decode/fc.weight".
void save(const std::vector<Method>& methods, const std::string& path,
          const SaveOptions& options = {});

// Keeps what was compiled for the calls so far: a form a set of guards, inference (gradients off)
// and training (with the backward) alike. Parameters, buffers and declared state go in with the
// values that they have now, and so do numbers, strings and flags among the arguments. PackageError
// where nothing was compiled yet, and where a form cannot be kept: for a module
// that is gone, arguments that were one and the same tensor, weights in oneDNN's order. The file
// appears whole or not at all.
template <class F>
void save(const Compiled<F>& compiled, const std::string& path, const SaveOptions& options = {}) {
  save(std::vector<Method>{{"forward", compiled}}, path, options);
}

struct LoadOptions {
  // An Ed25519 key in PEM: the package must be signed by its owner (`torchdyn sign`), and is read
  // whole, weights too. Empty: whoever made it is trusted.
  std::string public_key;
};

// A loaded package: immutable but for its weights; any number of threads may call it. Copies share
// it. Weights lie in the mapped file, whose pages all processes share; an optimizer's step makes
// those that it writes this process's own, and leaves the file as it is.
class Package {
 public:
  // The arguments' tensors, in the order in which a call of the function has them: those of the
  // arguments that are not modules, lists and tuples flattened, undefined ones left out. Gives the
  // result's tensors likewise. Where gradients are on and a training form was kept, results carry
  // them to the arguments and parameters. PackageError where no form takes these tensors:
  // "input 0 (arg0): expected f32[8, 4], given f32[8, 5]".
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& arguments) const;
  // The same of one of several functions; operator() is that of "forward".
  std::vector<at::Tensor> call(const std::string& method,
                               const std::vector<at::Tensor>& arguments) const;
  std::vector<std::string> methods() const;

  // What it holds besides code, by name; parameters require gradients, as they did.
  const std::vector<std::pair<std::string, at::Tensor>>& weights() const&;
  const std::vector<std::pair<std::string, at::Tensor>>& weights() && = delete;
  // Those that do, for an optimizer.
  std::vector<at::Tensor> parameters() const;
  std::string manifest() const;  // JSON
  // The same package with its weights, and what its optimizer keeps, as they are now.
  void save(const std::string& path) const;

  struct Impl;

 private:
  explicit Package(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend Package load(const std::string& path, const LoadOptions& options);
  friend class Trainer;
  std::shared_ptr<const Impl> impl_;
};

// PackageError: not a package, damaged, of another format, for other processors, or of a LibTorch
// that lacks one of its operators, or not signed as the options want. Digests are compared but for
// the weights'. Writes no file.
Package load(const std::string& path, const LoadOptions& options = {});

// Training with a package whose first result is the loss: forward, backward and the optimizer's
// step as one call.
//   Trainer trainer(load("loss.td"), "adamw lr=0.001 weight_decay=0.1");
//   double loss = trainer.step({x, y});
//   trainer.package().save("trained.td");
// Optimizers are LibTorch's, with its defaults: "sgd lr= momentum= dampening= weight_decay=
// nesterov=" and "adamw lr= beta1= beta2= eps= weight_decay= amsgrad=". PackageError for another
// one, and for a package without parameters that are trained. Without a name it is the package's
// own (SaveOptions): its kernels make the steps, and its state, which Package::save keeps, goes on
// where it was. A parameter that gets no gradient is left as it is, and has no count of its own.
class Trainer {
 public:
  explicit Trainer(Package package, const std::string& optimizer = "");
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Steps of several threads wait for each other. PackageError as from a call, or where the first
  // result is no number with a gradient.
  double step(const std::vector<at::Tensor>& arguments);
  void set_learning_rate(double rate);
  const Package& package() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchdyn
