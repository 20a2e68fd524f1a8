#include "torchdyn/python/compiled.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <stdexcept>

#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>

#include "aten_bridge/base/once.h"

namespace py = pybind11;

namespace torchdyn {
namespace {

std::string type_name(py::handle object) { return Py_TYPE(object.ptr())->tp_name; }

// Numbers and strings are guarded by type and value. False: this argument is of no kind we guard.
bool add_constant(py::handle value, internal::Leaves& leaves) {
  leaves.constant(std::bit_cast<std::uintptr_t>(Py_TYPE(value.ptr())));
  if (value.is_none()) return true;
  if (PyLong_CheckExact(value.ptr()) || PyBool_Check(value.ptr())) {
    int overflow = 0;
    leaves.constant(PyLong_AsLongLongAndOverflow(value.ptr(), &overflow));
    return overflow == 0;
  }
  if (PyFloat_CheckExact(value.ptr())) {
    leaves.constant(std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(value.ptr())));
    return true;
  }
  if (PyUnicode_CheckExact(value.ptr())) {
    Arguments<std::string>::visit(value.cast<std::string>(), leaves);
    return true;
  }
  return false;
}

// What keeps an argument from the engine; nothing: it was added.
std::optional<std::string> add_argument(py::handle argument, internal::Leaves& leaves) {
  if (THPVariable_CheckExact(argument.ptr())) {
    leaves.tensor(THPVariable_Unpack(argument.ptr()));
  } else if (THPVariable_Check(argument.ptr())) {
    return "an argument is a tensor subclass (" + type_name(argument) + ")";
  } else if (!add_constant(argument, leaves)) {
    return "an argument is neither a tensor nor a number (" + type_name(argument) + ")";
  }
  ++leaves.argument;
  return std::nullopt;
}

std::shared_ptr<const void> kept(py::object object) {
  return {new py::object(std::move(object)), [](const void* held) {
            const py::gil_scoped_acquire gil;
            delete static_cast<const py::object*>(held);
          }};
}

// A call's arguments and what runs them under capture.
struct Traced {
  const py::function& trace;
  const py::args& args;
  const std::vector<int>& positions;  // of the numbers

  internal::Traced operator()(const std::vector<at::Tensor>& fakes,
                              const std::vector<int64_t>& numbers) const {
    const py::gil_scoped_acquire gil;
    try {
      py::tuple with_fakes(args.size());
      size_t next = 0;
      for (size_t i = 0; i < args.size(); ++i)
        with_fakes[i] = THPVariable_Check(args[i].ptr()) ? py::cast(fakes[next++]) : args[i];
      for (size_t n = 0; n < positions.size(); ++n) with_fakes[positions[n]] = py::cast(numbers[n]);
      const auto result = trace(*with_fakes).cast<py::tuple>();
      return {result[0].cast<std::vector<at::Tensor>>(), result[1].cast<std::vector<int64_t>>(),
              kept(result[2])};
    } catch (py::error_already_set& error) {
      throw std::runtime_error(message_of(error));
    }
  }

  internal::TraceRef reference() {
    return {
        [](void* self, const std::vector<at::Tensor>& fakes, const std::vector<int64_t>& numbers) {
          return (*static_cast<Traced*>(self))(fakes, numbers);
        },
        this};
  }
};

SymExpr expression(const std::string& text) {
  std::string_view rest = text;
  auto parsed = aten_bridge::parse_sym_expr(&rest);
  if (!parsed || !rest.empty()) throw std::invalid_argument("not an expression of sizes: " + text);
  return *std::move(parsed);
}

std::vector<SymExpr> expressions(const std::vector<std::string>& texts) {
  std::vector<SymExpr> all;
  for (const std::string& text : texts) all.push_back(expression(text));
  return all;
}

}  // namespace

Options options_of(const std::map<std::string, std::string>& named) {
  Options options;
  for (const auto& [name, value] : named) options.set(name, value);
  return options;
}

std::string message_of(py::error_already_set& error) {
  std::string message = py::str(error.value()).cast<std::string>();
  error.restore();
  PyErr_Clear();
  return message;
}

PythonSizes::PythonSizes(const std::vector<std::optional<std::pair<Texts, Texts>>>& tensors,
                         const std::map<int, std::string>& numbers, std::vector<Samples> samples) {
  for (const auto& tensor : tensors) {
    sizes.tensors.emplace_back();
    if (tensor) sizes.tensors.back() = {expressions(tensor->first), expressions(tensor->second)};
  }
  for (const auto& [position, text] : numbers) {
    positions.push_back(position);
    sizes.numbers.push_back(expression(text));
  }
  sizes.samples = std::move(samples);
}

PythonCallable::PythonCallable(py::function trace, py::function eager,
                               const std::map<std::string, std::string>& options,
                               const std::vector<int>& parameters, std::optional<PythonSizes> sizes)
    : trace_(std::move(trace)),
      eager_(std::move(eager)),
      engine_(options_of(options)),
      sizes_(std::move(sizes)) {
  for (int argument : parameters) {
    is_parameter_.resize(std::max<size_t>(is_parameter_.size(), argument + 1));
    is_parameter_[argument] = true;
  }
}

py::object PythonCallable::in_eager(const py::args& args, const std::string& reason) {
  if (std::find(refusals_.begin(), refusals_.end(), reason) == refusals_.end())
    refusals_.push_back(reason);
  aten_bridge::say_once(reason, "a call runs in eager: " + reason);
  return eager_(*args);
}

Explanation PythonCallable::explain() const {
  Explanation explanation = engine_.explain();
  explanation.refusals.insert(explanation.refusals.end(), refusals_.begin(), refusals_.end());
  return explanation;
}

py::object PythonCallable::operator()(const py::args& args) {
  internal::Leaves leaves;
  if (internal::capturing()) return eager_(*args);
  static const auto& kNone = *new std::vector<int>;
  const std::vector<int>& positions = sizes_ ? sizes_->positions : kNone;
  auto number = positions.begin();
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t tensors = leaves.tensors.size();
    if (number != positions.end() && static_cast<size_t>(*number) == i) {
      ++number;
      leaves.numbers.push_back(args[i].cast<int64_t>());
      ++leaves.argument;
    } else if (const auto reason = add_argument(args[i], leaves)) {
      return in_eager(args, *reason);
    }
    if (i < is_parameter_.size() && is_parameter_[i] && leaves.tensors.size() > tensors)
      leaves.parameters.push_back(static_cast<int>(tensors));
  }

  Traced traced{trace_, args, positions};
  internal::Answer answer;
  {
    const py::gil_scoped_release no_gil;
    answer = engine_.call(leaves, traced.reference(), sizes_ ? &sizes_->sizes : nullptr);
  }
  if (!answer.compiled) {
    py::object result = eager_(*args);
    if (!answer.unproven_reason.empty()) {
      const py::gil_scoped_release no_gil;
      engine_.eager_succeeded(leaves, answer.unproven_reason);
    }
    return result;
  }
  py::list tensors = py::cast(answer.tensors);
  const auto& rebuild = *static_cast<const py::object*>(answer.prototype);
  if (rebuild.is_none()) return tensors;
  return answer.numbers.empty() ? rebuild(tensors) : rebuild(tensors, answer.numbers);
}

}  // namespace torchdyn
