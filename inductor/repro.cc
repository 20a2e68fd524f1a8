#include "inductor/repro.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "aten_bridge/base/options.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/cache/cache_directory.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;

std::string readme(const std::string& folder, const Repro& repro) {
  std::string text = str_cat(repro.problem,
                             "\n\ngraph.txt: the graph, with the types of its inputs\n"
                             "options.txt: the options that it was compiled with\n");
  for (const Repro::File& file : repro.more) text += str_cat(file.name, ": ", file.about, "\n");
  return str_cat(text,
                 "\nTo run it on random tensors beside eager, and to make it as small as it still "
                 "fails:\n  torchdyn_replay ",
                 folder, " --shrink\n  python3 -m torchdyn.replay ", folder, " --shrink\n");
}

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::string write_repro(const Repro& repro) {
  const std::string folder = str_cat(default_cache_path(), "/repro/", repro.name);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  bool written = true;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder + "/" + name, std::ios::trunc);
    file << text;
    file.close();
    written = written && file;
  };
  write("graph.txt", repro.graph);
  write("options.txt", repro.options + "\n");
  for (const Repro::File& file : repro.more) write(file.name, file.text);
  write("README.txt", readme(folder, repro));
  return written ? folder : "";
}

std::string write_repro(const aten_bridge::Graph& graph, aten_bridge::Numerics numerics,
                        const DeviceBackend& backend, const Rejection& rejection) {
  const EmittedKernel* kernels[] = {&rejection.kernel};
  aten_bridge::Options options;
  options.numerics = numerics;
  return write_repro({.name = rejection.kernel.name,
                      .problem = str_cat("The compiler rejected the kernel ", rejection.kernel.name,
                                         ":\n", std::string(rejection.status.message())),
                      .graph = print(graph),
                      .options = print(options),
                      .more = {{str_cat("kernel", backend.source_suffix()),
                                backend.assemble(kernels).text, "what the compiler was given"},
                               {"compiler.log", read(rejection.log), "what it said"}}});
}

}  // namespace inductor
