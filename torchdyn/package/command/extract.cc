// A section as a file of its own: extract.
#include <fstream>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package/command/subcommands.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/mapped_file.h"

namespace torchdyn {

absl::StatusOr<Report> extract_section(const CommandArguments& arguments) {
  auto file = MappedFile::open(arguments.files[0]);
  if (!file.ok()) return file.status();
  auto container = Container::parse((*file)->bytes());
  if (!container.ok()) return container.status();
  const std::string name = option(arguments, "--section", "weights.safetensors");
  auto bytes = container->checked_bytes(name);
  if (!bytes.ok()) return bytes.status();
  const std::string output = option(arguments, "--output");
  if (output.empty()) return absl::InvalidArgumentError("--output names no file");
  std::ofstream out(output, std::ios::binary);
  out << *bytes;
  out.close();
  if (!out) return absl::UnavailableError("cannot write " + output);
  Report report;
  report.text = aten_bridge::str_cat(name, ": ", bytes->size(), " bytes to ", output, "\n");
  report.json = {{"section", name}, {"bytes", bytes->size()}, {"output", output}};
  return report;
}

}  // namespace torchdyn
