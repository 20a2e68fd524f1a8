#include "torchdyn/package/plain/plain_package.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <set>

#include "absl/strings/str_join.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/core/bind.h"
#include "inductor/runtime/core/run_steps.h"
#include "torchdyn/package/plain/parallel_for.h"

namespace torchdyn {
namespace {

using aten_bridge::DType;
using aten_bridge::str_cat;
using inductor::KernelPlan;
using inductor::Storage;
using inductor::TensorRef;

// ---- One run ------------------------------------------------------------------------------------

class PlainMemory final : public inductor::TensorMemory {
 public:
  PlainMemory(const KernelPlan& plan, const std::vector<PlainTensor>& inputs)
      : plan_(plan), owners_(plan.buffers.size()), addresses_(plan.buffers.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      addresses_[plan.inputs[i]] = inputs[i].data;
      owners_[plan.inputs[i]] = inputs[i].owner;
    }
    arena_ = take(plan.arena_bytes.as_constant());
    for (size_t b = 0; b < plan.buffers.size(); ++b)
      if (plan.buffers[b].storage == Storage::kArena)
        addresses_[b] = static_cast<char*>(arena_.get()) + plan.buffers[b].offset.as_constant();
  }

  void** addresses() { return addresses_.data(); }

  void* allocate(int buffer) override {
    owners_[buffer] = take(*inductor::span_bytes(plan_.buffers[buffer].type));
    return owners_[buffer].get();
  }
  void release(int buffer) override { owners_[buffer].reset(); }
  void run_extern(int, const inductor::ExternCall& step, void**) override {
    TD_CHECK(false, step.op, " in a package without extern calls");
  }

  PlainTensor result(const TensorRef& ref) const {
    const auto& type = plan_.buffers[ref.buffer].type;
    const int64_t offset = ref.offset.as_constant() * aten_bridge::size_in_bytes(type.dtype);
    return {{type.dtype, type.device, ref.sizes, ref.strides},
            static_cast<char*>(addresses_[ref.buffer]) + offset,
            owners_[ref.buffer]};
  }

 private:
  static std::shared_ptr<void> take(int64_t bytes) {
    auto memory = allocate_bytes(bytes);
    if (!memory.ok()) throw std::bad_alloc();
    return *std::move(memory);
  }

  const KernelPlan& plan_;
  std::vector<std::shared_ptr<void>> owners_;  // one a buffer; none for the arena's
  std::vector<void*> addresses_;
  std::shared_ptr<void> arena_;
};

// ---- What results must be -----------------------------------------------------------------------

template <class T>
T element(const PlainTensor& tensor) {
  T value;
  std::memcpy(&value, tensor.data, sizeof(value));
  return value;
}

absl::StatusOr<PackagedNumber> read_number(const PlainTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kBool:
      return element<uint8_t>(tensor) != 0;
    case DType::kInt32:
      return int64_t{element<int32_t>(tensor)};
    case DType::kInt64:
      return element<int64_t>(tensor);
    case DType::kFloat32:
      return double{element<float>(tensor)};
    case DType::kFloat64:
      return element<double>(tensor);
    default:
      return absl::UnimplementedError("a number of this dtype that was read at capture");
  }
}

bool is_same(const PackagedNumber& a, const PackagedNumber& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return a == b || (x && y && std::isnan(*x) && std::isnan(*y));
}

absl::Status check(const PackagedAssumption& assumed, const PlainTensor& result) {
  auto number = read_number(result);
  if (!number.ok()) return number.status();
  if (is_same(*number, assumed.number)) return absl::OkStatus();
  if (assumed.raises) return absl::OutOfRangeError("an index is out of range");
  return absl::FailedPreconditionError("a number that was read at capture is another one now");
}

// ---- Which variants -----------------------------------------------------------------------------

absl::Status runs_plainly(const PackageFile& file, const PackagedVariant& v) {
  const KernelPlan& plan = file.plan(v, "forward");
  std::set<std::string> calls;
  for (const auto& step : plan.steps)
    if (auto* call = std::get_if<inductor::ExternCall>(&step)) calls.insert(call->op);
  if (!calls.empty())
    return absl::UnimplementedError(str_cat("it calls ", absl::StrJoin(calls, ", "),
                                            " of LibTorch; link torchdyn in place of its runtime"));
  if (plan.device.kind != aten_bridge::Device::Kind::kCpu)
    return absl::UnimplementedError("it runs on a GPU");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PlainPackage>> PlainPackage::load(const std::string& path,
                                                                       std::string_view key) {
  auto file = PackageFile::open(path, key);
  if (!file.ok()) return file.status();
  auto package = std::make_shared<PlainPackage>();
  package->file_ = *std::move(file);
  absl::Status status = absl::InvalidArgumentError("the package is empty");
  for (const PackagedMethod& method : package->file_->manifest().methods)
    for (const PackagedVariant& v : method.variants) {
      const absl::Status plain = runs_plainly(package->file(), v);
      if (plain.ok())
        package->variants_.push_back(package->make_variant(method, v));
      else
        status = plain;
    }
  if (package->variants_.empty())
    return absl::Status(status.code(), str_cat(path, ": ", std::string(status.message())));
  // What was captured without gradients comes first.
  std::stable_partition(package->variants_.begin(), package->variants_.end(),
                        [](const Variant& v) { return !v.described->grad_mode; });
  return package;
}

PlainPackage::Variant PlainPackage::make_variant(const PackagedMethod& method,
                                                 const PackagedVariant& v) const {
  Variant variant{&method, &v, &file_->plan(v, "forward"), {}, {}};
  variant.launchers = file_->launchers(*variant.plan);
  for (const PackagedInput& input : v.inputs) {
    if (input.argument) {
      variant.weights.emplace_back();
      continue;
    }
    char* bytes = const_cast<char*>(file_->weight(input.name).data());
    variant.weights.push_back({input.type, bytes, nullptr});
  }
  return variant;
}

absl::StatusOr<std::vector<PlainTensor>> PlainPackage::call(std::span<const PlainTensor> arguments,
                                                            std::string_view method) const {
  if (!find_method(file_->manifest(), method))
    return absl::NotFoundError(no_method(file_->manifest(), method));
  absl::Status status = absl::UnimplementedError(
      str_cat("method ", method, " calls LibTorch; link torchdyn in place of its runtime"));
  bool has_any = false;
  std::vector<TensorType> types;
  for (const PlainTensor& argument : arguments) types.push_back(argument.type);
  for (const Variant& variant : variants_) {
    if (variant.method->name != method) continue;
    std::vector<int64_t> sizes;
    if (auto fits = check_arguments(*variant.described, types, sizes); !fits) {
      if (!has_any) status = absl::InvalidArgumentError(fits.reason());
      has_any = true;
      continue;
    }
    std::vector<PlainTensor> inputs = variant.weights;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (auto argument = variant.described->inputs[i].argument) inputs[i] = arguments[*argument];
    std::unique_lock<std::mutex> lock(writing_, std::defer_lock);
    if (!variant.described->mutations.empty()) lock.lock();
    auto results = run(variant, sizes, std::move(inputs));
    if (!absl::IsFailedPrecondition(results.status())) return results;
    status = results.status();
  }
  return status;
}

std::shared_ptr<const KernelPlan> PlainPackage::plan_at(const Variant& variant,
                                                        const std::vector<int64_t>& sizes) const {
  if (sizes.empty()) return {std::shared_ptr<const KernelPlan>(), variant.plan};
  constexpr size_t kMostSizes = 256;  // in use at a time
  const std::lock_guard lock(binding_);
  auto& bound = bound_[variant.described];
  if (const auto found = bound.find(sizes); found != bound.end()) return found->second;
  if (bound.size() >= kMostSizes) bound.clear();
  aten_bridge::SymbolMap map;
  for (size_t s = 0; s < sizes.size(); ++s) map[{'s', static_cast<int32_t>(s)}] = sizes[s];
  auto plan = std::make_shared<const KernelPlan>(inductor::bind(*variant.plan, map));
  return bound.emplace(sizes, std::move(plan)).first->second;
}

absl::StatusOr<std::vector<PlainTensor>> PlainPackage::run(const Variant& variant,
                                                           const std::vector<int64_t>& sizes,
                                                           std::vector<PlainTensor> inputs) const {
  const PackagedVariant& v = *variant.described;
  const std::shared_ptr<const KernelPlan> bound = plan_at(variant, sizes);
  const KernelPlan& plan = *bound;
  PlainMemory memory(plan, inputs);
  const inductor::TdContext context{parallel_for, nullptr, 0};
  inductor::run_steps(plan, variant.launchers, memory.addresses(), memory, context);

  const auto graph_result = [&](int index) {
    TD_CHECK(plan.outputs[index], "a result of the graph that is none");
    return memory.result(*plan.outputs[index]);
  };
  for (const PackagedAssumption& assumed : v.assumptions)
    if (absl::Status holds = check(assumed, graph_result(assumed.result)); !holds.ok())
      return holds;
  for (auto [input, result] : v.mutations) copy_elements(graph_result(result), inputs[input]);

  std::vector<PlainTensor> results;
  for (const PackagedResult& r : v.results) {
    const bool of_graph = r.kind.ends_with("graph");
    PlainTensor tensor = of_graph ? graph_result(r.index) : inputs[r.index];
    if (r.kind.starts_with("view")) {
      const int64_t item = aten_bridge::size_in_bytes(tensor.type.dtype);
      tensor.type.sizes = at_sizes(r.sizes, sizes);
      tensor.type.strides = at_sizes(r.strides, sizes);
      const int64_t offset = at_sizes(r.offset, sizes).as_constant();
      tensor.data = static_cast<char*>(tensor.data) + offset * item;
    }
    if (!tensor.owner) {  // an input's memory
      auto copy = allocate(tensor.type);
      if (!copy.ok()) return copy.status();
      copy_elements(tensor, *copy);
      tensor = *std::move(copy);
    }
    results.push_back(std::move(tensor));
  }
  return results;
}

}  // namespace torchdyn
