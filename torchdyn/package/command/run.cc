// One call, and many: run, bench.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/runtime/core/kernel_plan.h"
#include "torchdyn/c_api/package_handle.h"
#include "torchdyn/package/command/subcommands.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {
namespace {

using aten_bridge::DType;
using aten_bridge::str_cat;
using aten_bridge::TensorType;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Opened {
  std::unique_ptr<PackageHandle> handle;
  Manifest manifest;
};

absl::StatusOr<Opened> open(const std::string& path) {
  auto handle = open_package(path);
  if (!handle.ok()) return handle.status();
  auto manifest = parse_manifest((*handle)->manifest());
  if (!manifest.ok()) return manifest.status();
  return Opened{*std::move(handle), *std::move(manifest)};
}

// Of a method's variants: inference, where there is some.
absl::StatusOr<const PackagedVariant*> first_choice(const Manifest& manifest,
                                                    const std::string& name) {
  const PackagedMethod* method = find_method(manifest, name);
  if (!method || method->variants.empty()) return absl::NotFoundError(no_method(manifest, name));
  for (const PackagedVariant& v : method->variants)
    if (!v.grad_mode) return &v;
  return &method->variants[0];
}

// Floating numbers between 0 and 1; zeros in place of integers, which may be indices.
void make_up(PlainTensor& tensor, uint32_t seed) {
  const auto bytes = static_cast<size_t>(*inductor::span_bytes(tensor.type));
  std::memset(tensor.data, 0, bytes);
  const auto fill = [&](auto zero) {
    auto* data = static_cast<decltype(zero)*>(tensor.data);
    for (size_t i = 0; i < bytes / sizeof(zero); ++i) {
      seed = seed * 1664525 + 1013904223;
      data[i] = static_cast<decltype(zero)>(seed >> 8) / (1 << 24);
    }
  };
  if (tensor.type.dtype == DType::kFloat32) fill(float());
  if (tensor.type.dtype == DType::kFloat64) fill(double());
}

// The arguments of a call, in order: from a file, or made up.
absl::StatusOr<std::vector<PlainTensor>> make_arguments(const PackagedVariant& v,
                                                        const std::string& path) {
  std::map<std::string, StoredTensor> given;
  std::shared_ptr<const MappedFile> file;
  if (!path.empty()) {
    auto mapped = MappedFile::open(path);
    if (!mapped.ok()) return mapped.status();
    file = *mapped;
    auto tensors = parse_safetensors(file->bytes());
    if (!tensors.ok()) return tensors.status();
    for (StoredTensor& tensor : *tensors) given.emplace(tensor.name, tensor);
  }
  std::vector<PlainTensor> arguments(static_cast<size_t>(v.arguments));
  for (const PackagedInput& input : v.inputs) {
    if (!input.argument) continue;
    if (path.empty()) {
      constexpr int64_t kMadeUpSize = 8;
      const std::vector<int64_t> sizes(static_cast<size_t>(v.symbols), kMadeUpSize);
      auto tensor = allocate(at_sizes(input.type, sizes));
      if (!tensor.ok()) return tensor.status();
      make_up(*tensor, static_cast<uint32_t>(*input.argument));
      arguments[*input.argument] = *tensor;
      continue;
    }
    const auto found = given.find(input.name);
    if (found == given.end())
      return absl::NotFoundError(str_cat(path, " has no tensor ", input.name));
    // The call itself compares it with the manifest.
    TensorType type = input.type;
    type.dtype = found->second.dtype;
    type.sizes.assign(found->second.sizes.begin(), found->second.sizes.end());
    type.strides = aten_bridge::contiguous_strides(type.sizes);
    auto tensor = allocate(type);
    if (!tensor.ok()) return tensor.status();
    copy_elements({type, const_cast<char*>(found->second.bytes.data()), nullptr}, *tensor);
    arguments[*input.argument] = *std::move(tensor);
  }
  return arguments;
}

absl::Status write_results(const std::vector<PlainTensor>& results, const std::string& path) {
  std::vector<PlainTensor> dense;
  std::vector<StoredTensor> stored;
  for (size_t i = 0; i < results.size(); ++i) {
    TensorType type = results[i].type;
    type.strides = aten_bridge::contiguous_strides(type.sizes);
    auto copy = allocate(type);
    if (!copy.ok()) return copy.status();
    copy_elements(results[i], *copy);
    std::vector<int64_t> sizes;
    for (const auto& size : type.sizes) sizes.push_back(size.as_constant());
    stored.push_back(
        {str_cat("result", i),
         type.dtype,
         sizes,
         {static_cast<const char*>(copy->data), static_cast<size_t>(*inductor::span_bytes(type))}});
    dense.push_back(*std::move(copy));
  }
  auto header = safetensors_header(stored);
  if (!header.ok()) return header.status();
  std::ofstream out(path, std::ios::binary);
  out << *header;
  for (const StoredTensor& tensor : stored) out << tensor.bytes;
  out.close();
  return out ? absl::OkStatus() : absl::UnavailableError("cannot write " + path);
}

}  // namespace

absl::StatusOr<Report> run_package(const CommandArguments& arguments) {
  auto opened = open(arguments.files[0]);
  if (!opened.ok()) return opened.status();
  const std::string method = option(arguments, "--method", kMainMethod);
  auto variant = first_choice(opened->manifest, method);
  if (!variant.ok()) return variant.status();
  auto inputs = make_arguments(**variant, option(arguments, "--inputs"));
  if (!inputs.ok()) return inputs.status();
  auto results = opened->handle->call(method, *inputs);
  if (!results.ok()) return results.status();
  Report report;
  report.json["results"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < results->size(); ++i) {
    const std::string type = print((*results)[i].type);
    report.text += str_cat("result", i, ": ", type, "\n");
    report.json["results"].push_back({{"name", str_cat("result", i)}, {"type", type}});
  }
  if (const std::string path = option(arguments, "--outputs"); !path.empty())
    if (absl::Status written = write_results(*results, path); !written.ok()) return written;
  return report;
}

absl::StatusOr<Report> bench_package(const CommandArguments& arguments) {
  int calls = 100;
  const std::string wish = option(arguments, "--calls");
  if (!wish.empty() && (!absl::SimpleAtoi(wish, &calls) || calls < 1))
    return absl::InvalidArgumentError("--calls " + wish);
  auto start = Clock::now();
  auto opened = open(arguments.files[0]);
  if (!opened.ok()) return opened.status();
  const double load = milliseconds_since(start);
  const std::string method = option(arguments, "--method", kMainMethod);
  auto variant = first_choice(opened->manifest, method);
  if (!variant.ok()) return variant.status();
  auto inputs = make_arguments(**variant, "");
  if (!inputs.ok()) return inputs.status();
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    start = Clock::now();
    auto results = opened->handle->call(method, *inputs);
    if (!results.ok()) return results.status();
    times.push_back(milliseconds_since(start));
  }
  const double first = times[0];
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], least = times[0];
  Report report;
  report.text =
      absl::StrFormat("load %.3f ms, first call %.3f ms, %d calls: median %.4f ms, least %.4f ms\n",
                      load, first, calls, median, least);
  report.json = {{"load_ms", load},
                 {"first_call_ms", first},
                 {"calls", calls},
                 {"median_ms", median},
                 {"least_ms", least}};
  return report;
}

}  // namespace torchdyn
