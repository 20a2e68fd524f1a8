// What a file says of itself: inspect.
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "torchdyn/package/command/subcommands.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"

namespace torchdyn {
namespace {

using aten_bridge::join;
using aten_bridge::str_append;
using aten_bridge::str_cat;

std::string describe(const PackagedVariant& v) {
  std::string text = str_cat("variant ", v.name, ": ", v.trains ? "training" : "inference", "\n");
  for (const PackagedInput& input : v.inputs)
    str_append(&text, "  ", input.argument ? str_cat("argument ", *input.argument) : "weight", " ",
               input.name, ": ", print(input.type), input.requires_grad ? ", gradient" : "", "\n");
  str_append(
      &text, "  results: ", v.results.size(), ", changed inputs: ", v.mutations.size(),
      "\n  calls of LibTorch: ",
      v.extern_calls.empty() ? "none" : join(v.extern_calls, [](const auto& call) { return call; }),
      "\n");
  return text;
}

}  // namespace

absl::StatusOr<Report> inspect(const CommandArguments& arguments) {
  auto file = MappedFile::open(arguments.files[0]);
  if (!file.ok()) return file.status();
  auto container = Container::parse((*file)->bytes());
  if (!container.ok()) return container.status();
  auto text = container->checked_bytes("manifest.json");
  if (!text.ok()) return text.status();
  auto manifest = parse_manifest(*text);
  if (!manifest.ok()) return manifest.status();

  Report report;
  report.text = str_cat("by ", manifest->producer, " on LibTorch ", manifest->torch, ", for ",
                        join(manifest->targets, [](const auto& target) { return target; }), "\n");
  if (manifest->optimizer) str_append(&report.text, "optimizer: ", manifest->optimizer->text, "\n");
  for (const PackagedMethod& method : manifest->methods) {
    if (manifest->methods.size() > 1) str_append(&report.text, "method ", method.name, "\n");
    for (const PackagedVariant& v : method.variants) report.text += describe(v);
  }
  report.json["manifest"] = nlohmann::ordered_json::parse(*text);
  for (const Section& section : container->sections()) {
    str_append(&report.text, "section ", section.name, ": ", section.bytes.size(), " bytes\n");
    report.json["sections"].push_back({{"name", section.name}, {"bytes", section.bytes.size()}});
  }
  return report;
}

}  // namespace torchdyn
