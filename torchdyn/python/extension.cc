#include "torchdyn/python/extension.h"

#include <memory>

#include <torch/csrc/jit/python/pybind_utils.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/extend.h"
#include "torchdyn/python/compiled.h"

namespace py = pybind11;

namespace torchdyn {
namespace {

using c10::IValue;

py::object call(const py::function& function, const c10::FunctionSchema& schema,
                std::span<const IValue> values) {
  py::list args;
  py::dict kwargs;
  for (size_t i = 0; i < values.size(); ++i) {
    const c10::Argument& spec = schema.arguments()[i];
    py::object value = torch::jit::toPyObject(values[i]);
    if (spec.kwarg_only()) {
      kwargs[py::str(spec.name())] = std::move(value);
    } else {
      args.append(std::move(value));
    }
  }
  return function(*args, **kwargs);
}

void push_results(const c10::FunctionSchema& schema, const py::object& result,
                  std::vector<IValue>& stack) {
  const auto& specs = schema.returns();
  const auto push = [&](size_t i, const py::handle& value) {
    stack.push_back(torch::jit::toIValue(value, specs[i].type()));
  };
  if (specs.size() == 1) return push(0, result);
  const auto results = result.cast<py::sequence>();
  if (results.size() != specs.size())
    throw aten_bridge::CaptureError(aten_bridge::str_cat("the decomposition of ", schema.name(),
                                                         " gives ", results.size(),
                                                         " results, not ", specs.size()));
  for (size_t i = 0; i < specs.size(); ++i) push(i, results[i]);
}

// The trace runs without the GIL.
void run(const std::string& op, const py::function& function, std::vector<IValue>& stack) {
  const c10::OperatorHandle handle = aten_bridge::find_operator(op);
  const c10::FunctionSchema& schema = handle.schema();
  const py::gil_scoped_acquire gil;
  const std::vector<IValue> args = torch::jit::pop(stack, schema.arguments().size());
  try {
    push_results(schema, call(function, schema, args), stack);
  } catch (py::error_already_set& error) {
    throw aten_bridge::CaptureError(
        aten_bridge::str_cat("the decomposition of ", op, " raised: ", message_of(error)));
  } catch (const py::cast_error&) {
    throw aten_bridge::CaptureError(
        aten_bridge::str_cat("the decomposition of ", op, " gives what the operator does not"));
  }
}

}  // namespace

void add_python_decomposition(const std::string& op, py::function function) {
  // Rows are never freed; the process's end is no time to take the GIL.
  const auto* kept = new py::function(std::move(function));
  add_decomposition(op, [op, kept](std::vector<IValue>& stack) { run(op, *kept, stack); });
}

}  // namespace torchdyn
