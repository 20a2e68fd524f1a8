// A package's methods, weights and optimizer state as LibTorch's tensors and programs.
//   auto impl = load_parts("model.td", {});
//   std::vector<at::Tensor> results = call(*find(*impl, "forward"), {x});
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "torchdyn/package.h"
#include "torchdyn/package/plain/package_file.h"
#include "torchdyn/program.h"

namespace torchdyn {

struct LoadedVariant {
  PackagedVariant described;
  std::vector<at::Tensor> weights;  // one an input; undefined for arguments
  std::unique_ptr<const Program> program;
};

struct LoadedMethod {
  std::string name;
  std::vector<LoadedVariant> variants;
};

struct Package::Impl {
  std::shared_ptr<const PackageFile> file;
  std::vector<LoadedMethod> methods;
  std::vector<std::pair<std::string, at::Tensor>> weights;  // by name
  std::map<std::string, at::Tensor> optimizer_state;        // PackageFile::optimizer_state()
};

// Throws PackageError.
std::shared_ptr<const Package::Impl> load_parts(const std::string& path,
                                                const LoadOptions& options);

// PackageError, naming those that there are.
const LoadedMethod& find(const Package::Impl& package, std::string_view method);

// The first variant that takes the arguments answers; PackageError where none does.
std::vector<at::Tensor> call(const LoadedMethod& method, const std::vector<at::Tensor>& arguments);

}  // namespace torchdyn
