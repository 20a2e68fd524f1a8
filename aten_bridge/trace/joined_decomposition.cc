#include "aten_bridge/trace/joined_decomposition.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/clone.h>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/view_table.h"

namespace aten_bridge {
namespace {

std::string text(const at::Tensor& tensor, const Device& device) {
  return tensor.defined() ? print(type_of(tensor, device)) : "none";
}

void check_types(const std::string& op, const std::vector<at::Tensor>& given,
                 const Inferred& expected) {
  const std::vector<at::Tensor> wanted = flatten(expected.results);
  size_t device = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Device own = given[i].defined() ? to_device(given[i].device()) : Device();
    const Device right = wanted[i].defined() ? expected.devices[device++] : Device();
    const std::string is = text(given[i], own), is_to_be = text(wanted[i], right);
    if (is != is_to_be || !(own == right))
      throw CaptureError(str_cat("the decomposition of ", op, " gives ", is,
                                 ", where the operator's shape rule gives ", is_to_be));
  }
}

}  // namespace

void run_joined(const c10::FunctionSchema& schema, const std::string& op, const Decomposition& row,
                const std::optional<Inferred>& expected, const ViewTable& views, Stack& stack) {
  HashSet<Value> arguments;
  for_each_tensor(std::span(stack).last(schema.arguments().size()), [&](const at::Tensor& t) {
    if (is_fake(t)) arguments.insert(views.root(value_of(t)));
  });
  row.replace(stack);
  const auto results = std::span(stack).last(schema.returns().size());
  map_tensors(results, [&](const at::Tensor& t) {
    if (!is_fake(t))
      throw CaptureError(str_cat("the decomposition of ", op, " gives a tensor of its own"));
    return arguments.contains(views.root(value_of(t))) ? at::clone(t) : t;
  });
  if (expected) check_types(op, flatten(results), *expected);
}

}  // namespace aten_bridge
