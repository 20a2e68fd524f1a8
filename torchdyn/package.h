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

// Keeps what was compiled for the calls so far: a form a set of guards, inference (gradients off)
// and training (with the backward) alike. Parameters, buffers and declared state go in with the
// values that they have now, and so do numbers, strings and flags among the arguments. PackageError
// where nothing was compiled yet, and where a form cannot be kept: for a module
// that is gone, arguments that were one and the same tensor, weights in oneDNN's order. The file
// appears whole or not at all.
template <class F>
void save(const Compiled<F>& compiled, const std::string& path) {
  compiled.save(path);
}

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

  // What it holds besides code, by name; parameters require gradients, as they did.
  const std::vector<std::pair<std::string, at::Tensor>>& weights() const&;
  const std::vector<std::pair<std::string, at::Tensor>>& weights() && = delete;
  // Those that do, for an optimizer.
  std::vector<at::Tensor> parameters() const;
  std::string manifest() const;  // JSON
  // The same package with its weights as they are now.
  void save(const std::string& path) const;

  struct Impl;

 private:
  explicit Package(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend Package load(const std::string& path);
  std::shared_ptr<const Impl> impl_;
};

// PackageError: not a package, damaged, of another format, for other processors, or of a LibTorch
// that lacks one of its operators. Digests are compared but for the weights'. Writes no file.
Package load(const std::string& path);

// Training with a package whose first result is the loss: forward, backward and the optimizer's
// step as one call.
//   Trainer trainer(load("loss.td"), "adamw lr=0.001 weight_decay=0.1");
//   double loss = trainer.step({x, y});
//   trainer.package().save("trained.td");
// Optimizers are LibTorch's, with its defaults: "sgd lr= momentum= dampening= weight_decay=
// nesterov=" and "adamw lr= beta1= beta2= eps= weight_decay= amsgrad=". PackageError for another
// one, and for a package without parameters that are trained.
class Trainer {
 public:
  Trainer(Package package, const std::string& optimizer);
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
