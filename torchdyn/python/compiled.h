// A Python callable over tensors and numbers, compiled anew for each call that no variant serves.
//   PythonCallable compiled(trace, eager, {{"recompile_limit", "16"}});
//   py::object results = compiled(args);
// `parameters`: the arguments that are parameters and buffers, which Options::freezing is about.
//
// trace(*args) runs under capture with tensors that hold no data, and, where sizes may change, with
// numbers of other sizes. It returns (tensors, numbers, rebuild): the tensors and the ints of the
// result, and None where the result is that list of tensors, or what makes the result of such
// lists. eager(*args) serves the calls that cannot be captured: those with a reason, tensor
// subclasses, arguments that are neither tensors nor numbers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/utils/pybind.h>

#include "torchdyn/compile.h"
#include "torchdyn/dynamic_sizes.h"

namespace torchdyn {

// Sizes that may change from call to call, as text of expressions of s0, s1, ...
struct PythonSizes {
  using Texts = std::vector<std::string>;
  PythonSizes(const std::vector<std::optional<std::pair<Texts, Texts>>>& tensors,
              const std::map<int, std::string>& numbers, std::vector<Samples> samples);

  DynamicSizes sizes;
  std::vector<int> positions;  // of the numbers among the arguments
};

class __attribute__((visibility("hidden"))) PythonCallable {
 public:
  // std::invalid_argument for an unknown option names the known ones.
  PythonCallable(pybind11::function trace, pybind11::function eager,
                 const std::map<std::string, std::string>& options,
                 const std::vector<int>& parameters, std::optional<PythonSizes> sizes);

  pybind11::object operator()(const pybind11::args& args);
  // With the reasons of calls that were never handed to the engine.
  Explanation explain() const;

 private:
  pybind11::object in_eager(const pybind11::args& args, const std::string& reason);

  pybind11::function trace_, eager_;
  internal::Engine engine_;
  std::vector<bool> is_parameter_;  // of the first arguments
  std::optional<PythonSizes> sizes_;
  std::vector<std::string> refusals_;  // calls not handed to the engine; under the GIL
};

// std::invalid_argument for an unknown option names the known ones.
Options options_of(const std::map<std::string, std::string>& named);

// What a Python exception says; its frames, which may hold fakes, are let go of.
std::string message_of(pybind11::error_already_set& error);

}  // namespace torchdyn
