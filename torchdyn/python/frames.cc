#include "torchdyn/python/frames.h"

#include "torchdyn/capture/frame_capture.h"
#include "torchdyn/capture/gaps.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/kinds.h"

namespace py = pybind11;

namespace torchdyn {
namespace {

// A capture and the scopes in which it works.
class PythonFrameCapture {
 public:
  PythonFrameCapture(const py::object& backend, bool fullgraph)
      : capture_(Gil::held(), PyBorrow(backend.ptr()), fullgraph) {}

  py::object call(const py::object& function, const py::args& args, const py::kwargs& kwargs) {
    const Gil gil = Gil::held();
    if (const Verdict may = EvalScope::possible(gil); !may) throw std::runtime_error(may.reason());
    const EvalScope scope(gil, &capture_);
    PyObject* const result = PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr());
    if (!result) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
  }

  py::list events() const {
    py::list rows;
    for (const FrameCapture::Event& event : capture_.events())
      rows.append(py::dict(py::arg("function") = event.function, py::arg("line") = event.line,
                           py::arg("reason") = event.reason, py::arg("is_cut") = event.is_cut,
                           py::arg("file") = event.file, py::arg("id") = event.id,
                           py::arg("advice") = event.advice, py::arg("guards") = event.guards));
    return rows;
  }

 private:
  FrameCapture capture_;
};

// Looks at no frame meanwhile.
py::object call_unseen(const py::object& function, const py::args& args, const py::kwargs& kwargs) {
  const Gil gil = Gil::held();
  const EvalScope closed(gil, nullptr);
  PyObject* const result = PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr());
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// By name, why an opcode is not captured; "" where it is.
py::dict captured_opcodes() {
  py::dict rows;
  for (int i = 0; i < kOpcodes; ++i) {
    const auto op = static_cast<Opcode>(i);
    const bool handled = handler_of(op) != nullptr;
    TD_CHECK(handled != is_gap(op), opcode_name(op), " has a handler and a gap, or neither");
    rows[py::str(std::string(opcode_name(op)))] = handled ? "" : GraphBreak(gap_of(op), "").what();
  }
  return rows;
}

}  // namespace

void add_frame_capture(py::module_& module) {
  py::class_<PythonFrameCapture>(module, "FrameCapture",
                                 "Captures frames into FX graphs for a backend(graph_module, "
                                 "example_inputs) -> callable.")
      .def(py::init<const py::object&, bool>(), py::arg("backend"), py::arg("fullgraph") = false)
      .def("call", &PythonFrameCapture::call, "function(*args, **kwargs), with frames captured.")
      .def_property_readonly("events", &PythonFrameCapture::events,
                             "One dict a change: function, line, reason (\"\": captured), guards.");
  module.def("call_unseen", &call_unseen, "function(*args, **kwargs), with no frame captured.");
  module.def(
      "allow_in_graph",
      [](const py::object& function) { allow_in_graph(PyBorrow(function.ptr())); },
      "Takes calls of a function into graphs, unseen.");
  module.def("compile_count", &FrameCapture::graphs, "Graphs that backends were given.");
  module.def("forget_captures", &FrameCapture::forget_all, "Forgets what was captured.");
  module.def("captured_opcodes", &captured_opcodes,
             "By name, why an opcode is not captured; \"\" where it is.");
}

}  // namespace torchdyn
