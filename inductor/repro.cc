#include "inductor/repro.h"

#include <filesystem>
#include <fstream>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/cache/cache_directory.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;

std::string readme(const std::string& folder, const std::string& source,
                   const Rejection& rejection) {
  return str_cat("The compiler rejected the kernel ", rejection.kernel.name, ":\n",
                 std::string(rejection.status.message()), "\n\n", source,
                 "  what it was given\ncompiler.log  what it said\n"
                 "graph.txt  the graph that the kernel is from; to compile it, run it on random\n"
                 "  tensors and compare the results with LibTorch's:\n"
                 "    TORCHDYN_REPLAY=",
                 folder, "/graph.txt aten_tests --gtest_filter='Compile.Replay*'\n");
}

}  // namespace

std::string write_repro(const aten_bridge::Graph& graph, const DeviceBackend& backend,
                        const Rejection& rejection) {
  namespace fs = std::filesystem;
  const std::string folder = str_cat(default_cache_path(), "/repro/", rejection.kernel.name);
  std::error_code error;
  fs::create_directories(folder, error);
  bool written = true;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder + "/" + name, std::ios::trunc);
    file << text;
    file.close();
    written = written && file;
  };
  const std::string source = str_cat("kernel", backend.source_suffix());
  const EmittedKernel* kernels[] = {&rejection.kernel};
  write("graph.txt", aten_bridge::print(graph));
  write(source, backend.assemble(kernels).text);
  write("README.txt", readme(folder, source, rejection));
  fs::copy_file(rejection.log, folder + "/compiler.log", fs::copy_options::overwrite_existing,
                error);
  return written ? folder : "";
}

}  // namespace inductor
