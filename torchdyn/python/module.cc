// The extension module torchdyn._C: traces Python callables over sample tensors and compiles them.
//   calls = _C.compile_calls([(fn, [x, w]), ...])   # fn(*tensors) -> list of tensors
//   results = calls[0]([x, w])
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/operators.h"
#include "torchdyn/variant.h"

namespace py = pybind11;

namespace torchdyn {
namespace {

using Tensors = std::vector<at::Tensor>;

internal::Leaves leaves_of(const Tensors& tensors) {
  internal::Leaves leaves;
  for (const at::Tensor& t : tensors) {
    leaves.tensor(t);
    ++leaves.argument;
  }
  return leaves;
}

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (int tensor : Duplicates::find(tensors).tensor_of)
    names.push_back("x" + std::to_string(tensor));
  return names;
}

// A callable that was compiled for the tensors of one call. Immutable; any thread may call it.
class CompiledCall {
 public:
  explicit CompiledCall(std::unique_ptr<Variant> variant) : variant_(std::move(variant)) {}

  Tensors operator()(const Tensors& tensors) const {
    if (!variant_->eager_reason.empty()) throw std::runtime_error(variant_->eager_reason);
    const internal::Leaves leaves = leaves_of(tensors);
    const Call call{leaves, {}, tensors};
    if (!variant_->matches(call))
      throw std::runtime_error("compiled for other tensors: " + variant_->why_not(call));
    return variant_->run(call);
  }

  const Variant& variant() const { return *variant_; }

 private:
  std::unique_ptr<Variant> variant_;
};

// Calls the Python callable with the fakes of a trace, which runs without the GIL.
internal::TraceRef trace_of(const py::function& callable) {
  return {[](void* self, const Tensors& fakes) {
            const py::gil_scoped_acquire gil;
            py::list arguments;
            for (const at::Tensor& fake : fakes) arguments.append(py::cast(fake));
            const py::object result = (*static_cast<const py::function*>(self))(*arguments);
            return internal::Traced{result.cast<Tensors>(), nullptr};
          },
          const_cast<py::function*>(&callable)};
}

std::unique_ptr<Variant> in_eager(const Call& call, const Tensors& tensors, std::string reason) {
  std::unique_ptr<Variant> variant = guard_call(call, names_of(tensors));
  variant->eager_reason = std::move(reason);
  return variant;
}

TracedVariant trace_or_say_why(const py::function& callable, const Tensors& tensors) {
  const internal::Leaves leaves = leaves_of(tensors);
  const Call call{leaves, {}, tensors};
  const std::vector<std::string> names = names_of(tensors);
  TracedVariant failed;
  try {
    return trace_variant(guard_call(call, names), call, names, trace_of(callable));
  } catch (const aten_bridge::CaptureError& error) {
    failed.variant = in_eager(call, tensors, error.what());
  } catch (const aten_bridge::InternalError& error) {
    failed.variant = in_eager(call, tensors, std::string("internal error: ") + error.what());
  } catch (py::error_already_set& error) {
    // A refusal comes back through the callable's frames as a Python exception, as anything does.
    const py::gil_scoped_acquire gil;
    failed.variant = in_eager(call, tensors, py::str(error.value()).cast<std::string>());
    error.restore();
    PyErr_Clear();
  } catch (const std::exception& error) {
    failed.variant = in_eager(call, tensors, std::string("capture raised: ") + error.what());
  }
  return failed;
}

// One that cannot be built does not take the others with it.
void build_or_say_why(std::span<TracedVariant> traced) {
  std::string reason;
  try {
    build_variants(traced);
    if (traced.size() == 1 || traced[0].variant->eager_reason.empty()) return;
  } catch (const std::exception& error) {
    reason = std::string("internal error: ") + error.what();
  }
  for (TracedVariant& one : traced) one.variant->eager_reason = reason;
  if (traced.size() == 1) return;
  for (TracedVariant& one : traced) one.variant->eager_reason.clear();
  build_or_say_why(traced.first(traced.size() / 2));
  build_or_say_why(traced.subspan(traced.size() / 2));
}

std::vector<std::unique_ptr<CompiledCall>> compile_calls(
    const std::vector<std::pair<py::function, Tensors>>& calls) {
  const py::gil_scoped_release no_gil;
  std::vector<TracedVariant> traced;
  std::vector<std::unique_ptr<CompiledCall>> compiled(calls.size());
  std::vector<size_t> places;
  for (size_t i = 0; i < calls.size(); ++i) {
    TracedVariant one = trace_or_say_why(calls[i].first, calls[i].second);
    if (!one.variant->eager_reason.empty()) {
      compiled[i] = std::make_unique<CompiledCall>(std::move(one.variant));
      continue;
    }
    traced.push_back(std::move(one));
    places.push_back(i);
  }
  if (!traced.empty()) build_or_say_why(traced);
  for (size_t i = 0; i < traced.size(); ++i)
    compiled[places[i]] = std::make_unique<CompiledCall>(std::move(traced[i].variant));
  return compiled;
}

py::list graphs_of(const CompiledCall& call) {
  py::list graphs;
  for (const Explanation::Graph& graph : call.variant().explanation.graphs) {
    py::list kernels;
    for (const auto& kernel : graph.kernels)
      kernels.append(py::dict(py::arg("name") = kernel.name, py::arg("origins") = kernel.origins,
                              py::arg("launches") = kernel.launches,
                              py::arg("bytes") = kernel.bytes));
    graphs.append(py::dict(
        py::arg("name") = graph.name, py::arg("text") = graph.text, py::arg("kernels") = kernels,
        py::arg("extern_calls") = graph.extern_calls, py::arg("not_fused") = graph.not_fused));
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
      .def("__call__", &CompiledCall::operator(), py::arg("tensors"),
           py::call_guard<py::gil_scoped_release>(),
           "The results for a list of tensors; RuntimeError where they are not what it was "
           "compiled for, or where eager_reason is not empty.")
      .def_property_readonly(
          "eager_reason", [](const CompiledCall& c) { return c.variant().eager_reason; },
          "Why nothing was compiled; empty where it was.")
      .def_property_readonly("graphs", &graphs_of,
                             "One dict a graph: name, text, kernels, extern_calls, not_fused.")
      .def_property_readonly(
          "capture_ms", [](const CompiledCall& c) { return c.variant().explanation.capture_ms; },
          "Milliseconds of the trace.");
  module.def("compile_calls", &compile_calls, py::arg("calls"),
             "Traces each (callable, tensors) of the list, callable(*tensors) -> list of tensors, "
             "and compiles all of them together.");
  module.def("operators_text", &operators_text, py::arg("pattern") = "",
             "What becomes of the operators of ATen whose names a regular expression finds, a "
             "line each, and how many there are of each kind.");
}

}  // namespace torchdyn
