#include "torchdyn/package/plain/package_file.h"

#include <set>

#include <dlfcn.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/backend/packaged_kernels.h"
#include "torchdyn/package/format/signature.h"
#include "torchdyn/package/format/stored_order.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;
using inductor::KernelPlan;
using inductor::Launch;

absl::Status in(const std::string& where, const absl::Status& status) {
  return absl::Status(status.code(), str_cat(where, ": ", std::string(status.message())));
}

struct OptimizerNumber {
  std::string_view name;
  aten_bridge::DType dtype;
};
constexpr OptimizerNumber kOptimizerNumbers[] = {{"step", aten_bridge::DType::kFloat32},
                                                 {"lr", aten_bridge::DType::kFloat64}};

std::vector<std::string> kernels_of(const KernelPlan& plan) {
  std::vector<std::string> names;
  for (const auto& step : plan.steps)
    if (auto* launch = std::get_if<Launch>(&step)) names.push_back(launch->kernel);
  return names;
}

bool has_inputs(const KernelPlan& plan, const PackagedVariant& v) {
  if (plan.inputs.size() != v.inputs.size() ||
      plan.outputs.size() < static_cast<size_t>(v.graph_results))
    return false;
  for (size_t i = 0; i < v.inputs.size(); ++i)
    if (plan.buffers[plan.inputs[i]].type != v.inputs[i].type) return false;
  for (auto [primal, result] : v.saved)
    if ((primal >= 0) == (result >= 0) || result >= static_cast<int>(plan.outputs.size()))
      return false;
  return true;
}

// Kernels call Sleef where the process has it: LibTorch's, else the distribution's.
void provide_sleef() {
  if (void* torch = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(torch);
    return;
  }
  dlopen("libsleef.so.3", RTLD_NOW | RTLD_GLOBAL);  // where it is absent, the kernels' load tells
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PackageFile>> PackageFile::open(const std::string& path,
                                                                     std::string_view key) {
  auto mapped = MappedFile::open(path);
  if (!mapped.ok()) return mapped.status();
  const std::shared_ptr<PackageFile> file(new PackageFile);
  file->file_ = *std::move(mapped);
  auto container = Container::parse(file->file_->bytes());
  if (!container.ok()) return in(path, container.status());
  file->container_ = *std::move(container);
  if (!key.empty())
    if (absl::Status valid = check_signature(file->container_, key); !valid.ok())
      return in(path, valid);
  try {
    if (absl::Status read = file->read(); !read.ok()) return in(path, read);
  } catch (const aten_bridge::InternalError& error) {  // numbers that overflow
    return absl::InvalidArgumentError(str_cat(path, ": ", error.what()));
  }
  return file;
}

std::vector<const PackagedVariant*> PackageFile::variants() const {
  std::vector<const PackagedVariant*> all;
  for (const PackagedMethod& method : manifest_.methods)
    for (const PackagedVariant& v : method.variants) all.push_back(&v);
  return all;
}

absl::Status PackageFile::read() {
  auto text = section("manifest.json");
  if (!text.ok()) return text.status();
  manifest_text_ = *text;
  auto manifest = parse_manifest(manifest_text_);
  if (!manifest.ok()) return manifest.status();
  manifest_ = *std::move(manifest);
  absl::Status status = read_weights();
  if (status.ok() && manifest_.optimizer) status = read_optimizer_state();
  for (const PackagedVariant* v : variants()) {
    if (status.ok()) status = read_plan(*v, "forward");
    if (status.ok() && v->trains) status = read_plan(*v, "backward");
    if (status.ok() && !has_inputs(plan(*v, "forward"), *v))
      status = absl::InvalidArgumentError(str_cat("variant ", v->name, " is not as its plan"));
  }
  return status.ok() ? load_kernels() : status;
}

absl::Status PackageFile::read_plan(const PackagedVariant& v, std::string_view graph) {
  const std::string name = section_name(v, graph, "plan");
  auto text = section(name);
  if (!text.ok()) return text.status();
  auto plan = inductor::parse_plan(*text);
  if (!plan.ok()) return in(name, plan.status());
  if (absl::Status valid = inductor::verify(*plan); !valid.ok()) return in(name, valid);
  plans_.emplace(name, *std::move(plan));
  return absl::OkStatus();
}

absl::Status PackageFile::read_weights() {
  auto bytes = container_.bytes("weights.safetensors");
  if (!bytes.ok()) return bytes.status();
  auto tensors = parse_safetensors(*bytes);
  if (!tensors.ok()) return tensors.status();
  for (StoredTensor& tensor : *tensors) weights_.emplace(tensor.name, tensor);
  for (const PackagedVariant* v : variants())
    for (const PackagedInput& input : v->inputs) {
      if (input.argument) continue;
      const auto found = weights_.find(input.name);
      if (found == weights_.end())
        return absl::NotFoundError(str_cat("there is no weight ", input.name));
      const StoredTensor& stored = found->second;
      std::vector<int64_t> sizes;
      for (int64_t d : stored_order(input.type))
        sizes.push_back(input.type.sizes[static_cast<size_t>(d)].as_constant());
      if (stored.dtype != input.type.dtype || stored.sizes != sizes ||
          inductor::span_bytes(input.type) != static_cast<int64_t>(stored.bytes.size()))
        return absl::InvalidArgumentError(
            str_cat("weight ", input.name, " is not ", print(input.type)));
    }
  return absl::OkStatus();
}

absl::Status PackageFile::read_optimizer_state() {
  auto bytes = container_.bytes("optimizer.safetensors");
  if (!bytes.ok()) return bytes.status();
  auto tensors = parse_safetensors(*bytes);
  if (!tensors.ok()) return tensors.status();
  for (StoredTensor& tensor : *tensors) optimizer_state_.emplace(tensor.name, tensor);
  for (const auto& [name, dtype] : kOptimizerNumbers) {
    const auto number = optimizer_state_.find(std::string(name));
    if (number == optimizer_state_.end() || number->second.dtype != dtype ||
        !number->second.sizes.empty())
      return absl::InvalidArgumentError(str_cat("the optimizer has no proper ", name));
  }
  for (const PackagedVariant* v : variants())
    for (const PackagedInput& input : v->inputs)
      for (const std::string& state : manifest_.optimizer->state) {
        if (input.argument || !input.requires_grad) continue;
        const auto kept = optimizer_state_.find(str_cat(state, "/", input.name));
        const StoredTensor& weight = weights_.at(input.name);
        if (kept == optimizer_state_.end() || kept->second.dtype != weight.dtype ||
            kept->second.sizes != weight.sizes)
          return absl::InvalidArgumentError(
              str_cat("the optimizer has no proper ", state, " of ", input.name));
      }
  return absl::OkStatus();
}

// One library has the kernels of all plans.
absl::Status PackageFile::load_kernels() {
  std::set<std::string> unique;
  for (const auto& [name, plan] : plans_)
    for (std::string& kernel : kernels_of(plan)) unique.insert(std::move(kernel));
  if (unique.empty()) return absl::OkStatus();
  if (manifest_.calls_sleef) provide_sleef();
  const std::vector<std::string> names(unique.begin(), unique.end());
  absl::Status status = absl::InvalidArgumentError("its kernels are for no processor");
  for (const std::string& target : manifest_.targets) {
    const absl::Status loaded = load_kernels_for(target, names);
    if (!absl::IsFailedPrecondition(loaded)) return loaded;
    if (!absl::IsFailedPrecondition(status)) status = loaded;  // the best one's
  }
  return status;
}

absl::Status PackageFile::load_kernels_for(const std::string& target,
                                           const std::vector<std::string>& names) {
  const int device = plans_.begin()->second.device.index;
  const std::string name = kernels_section(target);
  if (absl::Status here = inductor::runs_on_this_machine(target, device); !here.ok())
    return in(name, here);
  auto binary = section(name);
  if (!binary.ok()) return binary.status();
  auto loaded = inductor::load_packaged_kernels(target, *binary, names);
  if (!loaded.ok()) return in(name, loaded.status());
  for (size_t i = 0; i < names.size(); ++i) kernels_.emplace(names[i], (*loaded)[i]);
  target_ = target;
  return absl::OkStatus();
}

absl::Status PackageFile::write(const std::string& path) const {
  std::vector<SectionToWrite> sections;
  for (const Section& s : container_.sections())
    sections.push_back({std::string(s.name), {s.bytes}});
  return write_container(path, sections);
}

std::vector<inductor::Launcher> PackageFile::launchers(const KernelPlan& plan) const {
  std::vector<inductor::Launcher> launchers;
  for (const std::string& kernel : kernels_of(plan)) launchers.push_back(kernels_.at(kernel));
  return launchers;
}

}  // namespace torchdyn
