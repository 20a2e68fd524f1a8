// The extension module torchdyn._C: traces Python callables over sample tensors and compiles them.
//   calls = _C.compile_calls([(fn, [x, w]), ...], {})   # fn(*tensors) -> list of tensors
//   results = calls[0]([x, w])
#include <iostream>
#include <map>
#include <optional>

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/options.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/calls.h"
#include "torchdyn/extend.h"
#include "torchdyn/operators.h"
#include "torchdyn/package.h"
#include "torchdyn/package/save.h"
#include "torchdyn/python/compiled.h"
#include "torchdyn/python/extension.h"
#include "torchdyn/python/frames.h"
#include "torchdyn/replay/replay.h"

namespace py = pybind11;

namespace torchdyn {
namespace {

using Tensors = std::vector<at::Tensor>;

// Calls the Python callable with the fakes of a trace, which runs without the GIL.
internal::TraceRef trace_of(const py::function& callable) {
  return {[](void* self, const Tensors& fakes, const std::vector<int64_t>&) {
            const py::gil_scoped_acquire gil;
            try {
              py::list arguments;
              for (const at::Tensor& fake : fakes) arguments.append(py::cast(fake));
              const py::object result = (*static_cast<const py::function*>(self))(*arguments);
              return internal::Traced{result.cast<Tensors>(), {}, nullptr};
            } catch (py::error_already_set& error) {
              throw aten_bridge::CaptureError(message_of(error));
            }
          },
          const_cast<py::function*>(&callable)};
}

std::vector<std::unique_ptr<CompiledCall>> compile_callables(
    const std::vector<std::pair<py::function, Tensors>>& callables,
    const std::map<std::string, std::string>& options,
    const std::vector<std::optional<PythonSizes>>& sizes) {
  const Numerics numerics = options_of(options).numerics;
  const py::gil_scoped_release no_gil;
  std::vector<CallToCompile> calls;
  for (const auto& [callable, tensors] : callables) {
    const size_t place = calls.size();
    calls.push_back({trace_of(callable), tensors});
    if (place < sizes.size() && sizes[place]) calls.back().sizes = sizes[place]->sizes;
  }
  return compile_calls(calls, numerics);
}

std::optional<Tensors> results_of(const CompiledCall& call, const Tensors& tensors) {
  try {
    return call(tensors);
  } catch (const aten_bridge::EagerRaises&) {
    return std::nullopt;
  }
}

// A function of a package: name, structure, calls, weights. Of each call, the first tensors are
// arguments, the others the weights.
using PythonMethod = std::tuple<std::string, std::string, std::vector<const CompiledCall*>,
                                std::vector<std::pair<std::string, at::Tensor>>>;

MethodToSave to_save(const PythonMethod& method) {
  const auto& [name, structure, calls, weights] = method;
  std::vector<VariantToSave> variants;
  for (const CompiledCall* call : calls) {
    VariantToSave saved{&call->variant(), {}, {}};
    saved.tensors.resize(call->tensor_count() - weights.size());
    saved.names.resize(saved.tensors.size());
    for (const auto& [weight, tensor] : weights) {
      saved.tensors.push_back(tensor);
      saved.names.push_back(weight);
    }
    variants.push_back(std::move(saved));
  }
  return {name, structure, std::move(variants)};
}

void save_calls(const std::vector<PythonMethod>& methods,
                const std::map<std::string, std::string>& options, const std::string& optimizer,
                const std::vector<std::string>& targets, const std::string& path) {
  std::vector<MethodToSave> list;
  for (const PythonMethod& method : methods) list.push_back(to_save(method));
  const Numerics numerics = options_of(options).numerics;
  const py::gil_scoped_release no_gil;
  save_methods(list, numerics, {optimizer, targets}, path);
}

py::list graphs_of(const Explanation::Variant& variant) {
  py::list graphs;
  for (const Explanation::Graph& graph : variant.graphs) {
    py::list kernels;
    for (const auto& kernel : graph.kernels)
      kernels.append(py::dict(py::arg("name") = kernel.name, py::arg("origins") = kernel.origins,
                              py::arg("launches") = kernel.launches,
                              py::arg("bytes") = kernel.bytes));
    graphs.append(
        py::dict(py::arg("name") = graph.name, py::arg("text") = graph.text,
                 py::arg("kernels") = kernels, py::arg("extern_calls") = graph.extern_calls,
                 py::arg("not_fused") = graph.not_fused, py::arg("rejected") = graph.rejected));
  }
  return graphs;
}

py::list variants_of(const Explanation& explanation) {
  py::list variants;
  for (const Explanation::Variant& variant : explanation.variants)
    variants.append(py::dict(
        py::arg("eager_reason") = variant.eager_reason,
        py::arg("fixed_reason") = variant.fixed_reason, py::arg("replay") = variant.replay,
        py::arg("guards") = variant.guards, py::arg("graphs") = graphs_of(variant),
        py::arg("capture_ms") = variant.capture_ms, py::arg("compile_ms") = variant.compile_ms));
  return variants;
}

std::string operators_text(const std::string& pattern) {
  const std::vector<OperatorRow> rows = operator_table(pattern);
  return print(rows) + "\n" + summary(rows);
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  module.doc() = "Traces Python callables over sample tensors and compiles them.";
  py::class_<CompiledCall>(module, "CompiledCall",
                           "A callable compiled for tensors of these types and sizes.")
      .def("__call__", &results_of, py::arg("tensors"), py::call_guard<py::gil_scoped_release>(),
           "The results for a list of tensors, None where eager raises for their values; "
           "RuntimeError where they are not what it was "
           "compiled for, or where eager_reason is not empty.")
      .def_property_readonly(
          "eager_reason", [](const CompiledCall& c) { return c.eager_reason(); },
          "Why nothing was compiled; empty where it was.")
      .def_property_readonly(
          "graphs", [](const CompiledCall& c) { return graphs_of(c.explanation()); },
          "One dict a graph: name, text, kernels, extern_calls, not_fused, "
          "rejected.")
      .def_property_readonly(
          "capture_ms", [](const CompiledCall& c) { return c.explanation().capture_ms; },
          "Milliseconds of the trace.");
  py::class_<PythonSizes>(module, "DynamicSizes",
                          "Sizes that may change from call to call: of each tensor argument its "
                          "sizes and strides, or None; of numbers by position; as expressions of "
                          "s0, s1, ..., and rows of values for which the callable can be traced.")
      .def(py::init<
               const std::vector<std::optional<std::pair<PythonSizes::Texts, PythonSizes::Texts>>>&,
               const std::map<int, std::string>&, std::vector<Samples>>(),
           py::arg("tensors"), py::arg("numbers"), py::arg("samples"));
  py::class_<PythonCallable>(module, "Compiled",
                             "A callable compiled anew for each call that no variant serves.")
      .def(py::init<py::function, py::function, const std::map<std::string, std::string>&,
                    const std::vector<int>&, std::optional<PythonSizes>>(),
           py::arg("trace"), py::arg("eager"), py::arg("options"), py::arg("parameters"),
           py::arg("sizes") = std::nullopt)
      .def("__call__", &PythonCallable::operator(), "The result of a call, equal to eager's.")
      .def_property_readonly(
          "variants", [](const PythonCallable& c) { return variants_of(c.explain()); },
          "One dict a variant: eager_reason, fixed_reason, replay, guards, graphs, capture_ms, "
          "compile_ms.")
      .def_property_readonly(
          "recompile_reasons",
          [](const PythonCallable& c) { return c.explain().recompile_reasons; },
          "Why each variant after the first was made.")
      .def_property_readonly(
          "refusals", [](const PythonCallable& c) { return c.explain().refusals; },
          "Why calls ran in eager for which no variant was made.")
      .def("__str__", [](const PythonCallable& c) { return c.explain().str(); });
  module.def("compile_calls", &compile_callables, py::arg("calls"), py::arg("options"),
             py::arg("sizes") = std::vector<std::optional<PythonSizes>>(),
             "Traces each (callable, tensors) of the list, callable(*tensors) -> list of tensors, "
             "and compiles all of them together; `sizes`: those of each that may vary.");
  module.def("save_calls", &save_calls, py::arg("methods"), py::arg("options"),
             py::arg("optimizer"), py::arg("targets"), py::arg("path"),
             "Writes compiled calls as a package, of each method its name, structure, calls and "
             "weights by name; PackageError, a RuntimeError, says why not.");
  py::register_exception<PackageError>(module, "PackageError", PyExc_RuntimeError);
  py::class_<Package>(module, "Package", "A loaded package, over flat lists of tensors.")
      .def(py::init([](const std::string& path, const std::string& public_key) {
             return load(path, {public_key});
           }),
           py::arg("path"), py::arg("public_key") = "", py::call_guard<py::gil_scoped_release>())
      .def("__call__", &Package::operator(), py::arg("tensors"),
           py::call_guard<py::gil_scoped_release>())
      .def("call", &Package::call, py::arg("method"), py::arg("tensors"),
           py::call_guard<py::gil_scoped_release>())
      .def("save", &Package::save, py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("methods", &Package::methods)
      .def_property_readonly("weights", [](const Package& p) { return p.weights(); })
      .def_property_readonly("manifest", &Package::manifest);
  py::class_<Trainer>(module, "Trainer", "Training steps of a package.")
      .def(py::init<Package, const std::string&>(), py::arg("package"), py::arg("optimizer"),
           py::call_guard<py::gil_scoped_release>())
      .def("step", &Trainer::step, py::arg("tensors"), py::call_guard<py::gil_scoped_release>())
      .def("set_learning_rate", &Trainer::set_learning_rate, py::arg("rate"));
  module.def(
      "default_options", [] { return aten_bridge::print(aten_bridge::Options()); },
      "\"fullgraph=false recompile_limit=8\": every option's name and default.");
  module.def("options_help", &aten_bridge::options_help, "A line an option.");
  module.def(
      "check_option",
      [](const std::string& name, const std::string& value) { Options().set(name, value); },
      py::arg("name"), py::arg("value"),
      "ValueError for a name or a value that no option takes; it lists those there are.");
  module.def("add_decomposition", &add_python_decomposition, py::arg("op"), py::arg("function"),
             "From now on the function, called with the operator's arguments, replaces it.");
  module.def("add_lowering", &add_lowering, py::arg("op"), py::arg("element"),
             "From now on the operator is lowered as the text says.");
  module.def("scalar_operators", &scalar_operators,
             "(name, number of operands) of what an element may be made of.");
  add_frame_capture(module);
  module.def(
      "replay",
      [](const std::string& path, bool shrink) {
        const Replayed replayed = replay(path, shrink, std::cerr);
        return std::pair(replayed.problem, replayed.smallest);
      },
      py::arg("path"), py::arg("shrink"), py::call_guard<py::gil_scoped_release>(),
      "Runs what a repro holds beside eager: what is wrong (\"\": nothing), and, where asked for, "
      "the "
      "smallest graph that fails alike.");
  module.def("operators_text", &operators_text, py::arg("pattern") = "",
             "What becomes of the operators of ATen whose names a regular expression finds, a "
             "line each, and how many there are of each kind.");
}

}  // namespace torchdyn
