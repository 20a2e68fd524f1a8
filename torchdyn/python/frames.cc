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
  PythonFrameCapture(const py::object& backend, bool fullgraph, std::string_view open_sizes)
      : capture_(Gil::held(), PyBorrow(backend.ptr()), fullgraph, policy(open_sizes)) {}

  py::object call(const py::object& function, const py::args& args, const py::kwargs& kwargs) {
    PyObject* const result =
        within_scope([&] { return PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr()); });
    if (!result) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
  }

  template <class Call>
  PyObject* within_scope(Call call) {
    const Gil gil = Gil::held_surely();
    if (const Verdict may = EvalScope::possible(gil); !may) throw std::runtime_error(may.reason());
    const EvalScope scope(gil, &capture_);
    return call();
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
  static OpenSizes::Policy policy(std::string_view name) {
    static constexpr std::pair<std::string_view, OpenSizes::Policy> kPolicies[] = {
        {"automatic", OpenSizes::Policy::kAutomatic},
        {"all", OpenSizes::Policy::kAll},
        {"marked", OpenSizes::Policy::kMarked},
        {"none", OpenSizes::Policy::kNone}};
    for (const auto& [known, policy] : kPolicies)
      if (known == name) return policy;
    throw py::value_error("open_sizes is automatic, all, marked or none");
  }

  FrameCapture capture_;
};

// `held` is (capture, its address, function), which CPython's collector sees.
PyObject* call_captured(PyObject* held, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* const capture =
      static_cast<PythonFrameCapture*>(PyCapsule_GetPointer(PyTuple_GET_ITEM(held, 1), nullptr));
  try {
    return capture->within_scope([&] {
      return PyObject_Vectorcall(PyTuple_GET_ITEM(held, 2), args, static_cast<size_t>(count),
                                 names);
    });
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyMethodDef call_captured_definition = {
    "call_captured", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_captured)),
    METH_FASTCALL | METH_KEYWORDS, nullptr};

py::object caller(const py::object& capture, const py::object& function) {
  const py::tuple held =
      py::make_tuple(capture, py::capsule(capture.cast<PythonFrameCapture*>()), function);
  PyObject* const made = PyCFunction_New(&call_captured_definition, held.ptr());
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

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
      .def(py::init<const py::object&, bool, std::string_view>(), py::arg("backend"),
           py::arg("fullgraph") = false, py::arg("open_sizes") = "none")
      .def("call", &PythonFrameCapture::call, "function(*args, **kwargs), with frames captured.")
      .def("caller", &caller, "What calls function(*args, **kwargs) so, quickly.")
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
