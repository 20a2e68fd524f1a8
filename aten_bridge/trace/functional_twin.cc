#include "aten_bridge/trace/functional_twin.h"

#include <mutex>
#include <optional>
#include <sstream>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/clone.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"

namespace aten_bridge {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// The argument that a result is; none: a result of its own.
std::optional<size_t> argument_of(const c10::Argument& result, const c10::FunctionSchema& schema) {
  if (!is_written(result)) return std::nullopt;
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (is_written(schema.arguments()[i]) &&
        *schema.arguments()[i].alias_info() == *result.alias_info())
      return i;
  throw CaptureError(str_cat(schema.name(), " returns what its schema does not name"));
}

c10::Argument without_alias(const c10::Argument& a) {
  return c10::Argument(a.name(), a.type(), a.real_type(), a.N(), a.default_value(), a.kwarg_only());
}

// Results of its own first, then what is written.
c10::FunctionSchema twin_schema(const c10::FunctionSchema& schema) {
  std::string name = schema.name();
  name.replace(name.find("::"), 2, "_");
  std::vector<c10::Argument> arguments, returns;
  for (const c10::Argument& r : schema.returns())
    if (!argument_of(r, schema)) returns.push_back(without_alias(r));
  for (const c10::Argument& a : schema.arguments()) {
    arguments.push_back(without_alias(a));
    if (is_written(a)) returns.push_back(c10::Argument("", a.type(), a.real_type()));
  }
  return c10::FunctionSchema("torchdyn_functional::" + name, schema.overload_name(),
                             std::move(arguments), std::move(returns));
}

// The twin's kernel: the original on copies of what it writes.
class OnCopies : public c10::OperatorKernel {
 public:
  explicit OnCopies(c10::OperatorName original) : original_(std::move(original)) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
        original_.name.c_str(), original_.overload_name.c_str());
    const c10::FunctionSchema& schema = op.schema();
    std::vector<IValue> results = torch::jit::pop(*stack, schema.arguments().size()), written;
    bool has_data = true;
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      if (!is_written(schema.arguments()[i])) continue;
      map_tensors(std::span(results).subspan(i, 1), [&](const at::Tensor& t) {
        has_data &= !t.is_meta();
        return at::clone(t);
      });
      written.push_back(results[i]);
    }
    // Of tensors without data, one without results leaves all as it was.
    if (has_data || !schema.returns().empty()) {
      op.callBoxed(&results);
    } else {
      results.clear();
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (!argument_of(schema.returns()[i], schema)) stack->push_back(std::move(results[i]));
    for (IValue& value : written) stack->push_back(std::move(value));
  }

 private:
  c10::OperatorName original_;
};

struct Twin {
  std::string original_schema;
  std::vector<c10::RegistrationHandleRAII> registrations;
};

std::string text(const c10::FunctionSchema& schema) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // rather than a part of it
  out << schema;
  return out.str();
}

Twin make_twin(const c10::OperatorHandle& op) {
  auto& dispatcher = c10::Dispatcher::singleton();
  c10::FunctionSchema schema = twin_schema(op.schema());
  const c10::OperatorName name = schema.operator_name();
  std::vector<at::Tag> tags(op.getTags().begin(), op.getTags().end());
  Twin twin{text(op.schema()), {}};
  twin.registrations.push_back(
      dispatcher.registerDef(std::move(schema), "functional_twin", std::move(tags)));
  for (auto key : {c10::DispatchKey::CompositeExplicitAutograd, c10::DispatchKey::Meta})
    twin.registrations.push_back(dispatcher.registerImpl(
        name, key,
        c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<OnCopies>(op.operator_name())),
        std::nullopt, nullptr, "functional_twin"));
  return twin;
}

// LibTorch knows no gradient of such an operator, and warns in backward; eager shall do it.
void refuse_gradients(const std::string& name, std::span<const IValue> args) {
  if (!c10::GradMode::is_enabled()) return;
  for_each_tensor(args, [&](const at::Tensor& t) {
    if (t.requires_grad())
      throw CaptureError(str_cat(name, " changes an argument, and another one carries a gradient"));
  });
}

void copy_into(const IValue& to, const IValue& from) {
  std::vector<at::Tensor> old, now;
  for_each_tensor({&to, 1}, [&](const at::Tensor& t) { old.push_back(t); });
  for_each_tensor({&from, 1}, [&](const at::Tensor& t) { now.push_back(t); });
  for (size_t i = 0; i < old.size(); ++i) old[i].copy_(now[i]);
}

}  // namespace

c10::OperatorHandle functional_twin(const c10::OperatorHandle& op) {
  static std::mutex mutex;
  static auto& twins = *new std::unordered_map<c10::OperatorName, Twin>;  // as the dispatcher
  const std::scoped_lock lock(mutex);
  const auto known = twins.find(op.operator_name());
  if (known == twins.end() || known->second.original_schema != text(op.schema())) {
    if (known != twins.end()) twins.erase(known);  // its name is to be free
    twins.emplace(op.operator_name(), make_twin(op));
  }
  const c10::OperatorName name = twin_schema(op.schema()).operator_name();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(),
                                                        name.overload_name.c_str());
}

void call_functionally(const c10::OperatorHandle& op, Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::vector<IValue> before = torch::jit::pop(stack, schema.arguments().size());
  refuse_gradients(name_of(op), before);
  std::vector<IValue> results = before;
  functional_twin(op).callBoxed(&results);
  auto next = results.begin();
  for (const c10::Argument& result : schema.returns()) {
    const auto argument = argument_of(result, schema);
    stack.push_back(argument ? before[*argument] : *next++);
  }
  for (size_t i = 0; i < before.size(); ++i)
    if (is_written(schema.arguments()[i])) copy_into(before[i], *next++);
}

}  // namespace aten_bridge
