// The extension module torchdyn._C: traces Python callables over sample tensors and compiles them.
//   calls = _C.compile_calls([(fn, [x, w]), ...])   # fn(*tensors) -> list of tensors
//   results = calls[0]([x, w])
#include <optional>

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/calls.h"
#include "torchdyn/operators.h"

namespace py = pybind11;

namespace torchdyn {
namespace {

using Tensors = std::vector<at::Tensor>;

// The callable's exception for the compiler: a refusal comes back through its frames as a Python
// exception, as anything does.
[[noreturn]] void give_up(py::error_already_set& error) {
  const std::string reason = py::str(error.value()).cast<std::string>();
  error.restore();
  PyErr_Clear();
  throw aten_bridge::CaptureError(reason);
}

// Calls the Python callable with the fakes of a trace, which runs without the GIL.
internal::TraceRef trace_of(const py::function& callable) {
  return {[](void* self, const Tensors& fakes) {
            const py::gil_scoped_acquire gil;
            try {
              py::list arguments;
              for (const at::Tensor& fake : fakes) arguments.append(py::cast(fake));
              const py::object result = (*static_cast<const py::function*>(self))(*arguments);
              return internal::Traced{result.cast<Tensors>(), nullptr};
            } catch (py::error_already_set& error) {
              give_up(error);
            }
          },
          const_cast<py::function*>(&callable)};
}

std::vector<std::unique_ptr<CompiledCall>> compile_callables(
    const std::vector<std::pair<py::function, Tensors>>& callables) {
  const py::gil_scoped_release no_gil;
  std::vector<CallToCompile> calls;
  for (const auto& [callable, tensors] : callables) calls.push_back({trace_of(callable), tensors});
  return compile_calls(calls);
}

std::optional<Tensors> results_of(const CompiledCall& call, const Tensors& tensors) {
  try {
    return call(tensors);
  } catch (const aten_bridge::EagerRaises&) {
    return std::nullopt;
  }
}

py::list graphs_of(const CompiledCall& call) {
  py::list graphs;
  for (const Explanation::Graph& graph : call.explanation().graphs) {
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
      .def_property_readonly("graphs", &graphs_of,
                             "One dict a graph: name, text, kernels, extern_calls, not_fused, "
                             "rejected.")
      .def_property_readonly(
          "capture_ms", [](const CompiledCall& c) { return c.explanation().capture_ms; },
          "Milliseconds of the trace.");
  module.def("compile_calls", &compile_callables, py::arg("calls"),
             "Traces each (callable, tensors) of the list, callable(*tensors) -> list of tensors, "
             "and compiles all of them together.");
  module.def("operators_text", &operators_text, py::arg("pattern") = "",
             "What becomes of the operators of ATen whose names a regular expression finds, a "
             "line each, and how many there are of each kind.");
}

}  // namespace torchdyn
