#include "torchdyn/variables/tensor_types.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/record.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

struct TypeRow {
  std::string_view type, dtype;
};

constexpr TypeRow kTypes[] = {{"BFloat16Tensor", "torch.bfloat16"},
                              {"BoolTensor", "torch.bool"},
                              {"ByteTensor", "torch.uint8"},
                              {"CharTensor", "torch.int8"},
                              {"ComplexDoubleTensor", "torch.complex128"},
                              {"ComplexFloatTensor", "torch.complex64"},
                              {"DoubleTensor", "torch.float64"},
                              {"FloatTensor", "torch.float32"},
                              {"HalfTensor", "torch.float16"},
                              {"IntTensor", "torch.int32"},
                              {"LongTensor", "torch.int64"},
                              {"ShortTensor", "torch.int16"}};

constexpr std::string_view kOnCpu = "torch.", kOnCuda = "torch.cuda.";

VarRef constant(PyRef value) { return std::make_shared<ConstantVariable>(std::move(value)); }

VarRef name_of_type(Translator& t, const TensorVariable& self) {
  const std::string dtype = text_of(attribute(t.gil(), self.like(), "dtype"));
  const std::string device = text_of(attribute(t.gil(), self.device(), "type"));
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype && (device == "cpu" || device == "cuda"))
      return constant(torchdyn::name(str_cat(device == "cpu" ? kOnCpu : kOnCuda, row.type)));
  break_graph(BreakReason::kCall, "Tensor.type()");
}

// "torch.cuda.FloatTensor", which a type is called as well.
std::string type_named(Translator& t, const VarRef& type) {
  const PyBorrow object = type->object();
  if (object && PyUnicode_CheckExact(object.get())) return std::string(utf8(object));
  if (!object || Py_TYPE(object.get())->tp_name != std::string_view("torch.tensortype"))
    break_graph(BreakReason::kCall, str_cat("Tensor.type() of a ", type->type_name()));
  auto is_type = IsType::of(object);
  if (!is_type) break_graph(BreakReason::kCall, "Tensor.type() of a type that may change");
  t.guards().add(type->source(), *is_type);
  const PyRef module = attribute(t.gil(), object, "__module__");
  return str_cat(utf8(module), ".", text_of(attribute(t.gil(), object, "__name__")));
}

bool is_dtype(const VarRef& value) {
  return value->object() &&
         Py_TYPE(value->object().get())->tp_name == std::string_view("torch.dtype");
}

}  // namespace

// LibTorch: torch/csrc/autograd/python_variable_methods.cpp, THPVariable_type.
VarRef call_type(Translator& t, const VarRef& tensor, const CallArgs& args) {
  const auto& self = static_cast<const TensorVariable&>(*tensor);
  if (args.positional.empty() && args.named.empty()) return name_of_type(t, self);
  if (args.positional.size() != 1 || !args.named.empty() || is_dtype(args.positional[0]))
    return record_method(t, tensor, "type", args);
  const std::string type = type_named(t, args.positional[0]);
  const bool is_on_cuda = type.starts_with(kOnCuda);
  const std::string device = text_of(attribute(t.gil(), self.device(), "type"));
  for (const TypeRow& row : kTypes) {
    if (type != str_cat(is_on_cuda ? kOnCuda : kOnCpu, row.type)) continue;
    if (device != (is_on_cuda ? "cuda" : "cpu"))
      break_graph(BreakReason::kCall, "Tensor.type() of another device");
    const PyRef dtype =
        import_attribute(t.gil(), "torch", std::string(row.dtype.substr(6)).c_str());
    return record_method(t, tensor, "to", {{constant(PyRef::to(dtype))}, {}});
  }
  break_graph(BreakReason::kCall, str_cat("Tensor.type() of ", type));
}

}  // namespace torchdyn
