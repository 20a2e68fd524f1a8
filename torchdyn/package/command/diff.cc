// What two packages do not have in common.
#include <map>
#include <set>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package/command/subcommands.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/mapped_file.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

struct Opened {
  std::shared_ptr<const MappedFile> file;
  std::map<std::string, Section> sections;
  std::map<std::string, StoredTensor> weights;
};

absl::StatusOr<Opened> open(const std::string& path) {
  Opened opened;
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  opened.file = *std::move(file);
  auto container = Container::parse(opened.file->bytes());
  if (!container.ok()) return container.status();
  for (const Section& section : container->sections())
    opened.sections.emplace(section.name, section);
  auto weights = container->bytes("weights.safetensors");
  if (!weights.ok()) return weights.status();
  auto tensors = parse_safetensors(*weights);
  if (!tensors.ok()) return tensors.status();
  for (StoredTensor& tensor : *tensors) opened.weights.emplace(tensor.name, tensor);
  return opened;
}

// Adds a line for each key that only one has, or whose values differ.
template <class Map, class Same>
void compare(const char* what, const Map& a, const Map& b, Same same, Report& report) {
  std::set<std::string> names;
  for (const auto& [name, value] : a) names.insert(name);
  for (const auto& [name, value] : b) names.insert(name);
  for (const std::string& name : names) {
    const auto x = a.find(name), y = b.find(name);
    const char* how = x == a.end()   ? "only in the second"
                      : y == b.end() ? "only in the first"
                                     : "differs";
    if (x != a.end() && y != b.end() && same(x->second, y->second)) continue;
    report.text += str_cat(what, " ", name, ": ", how, "\n");
    report.json["differences"].push_back({{"what", what}, {"name", name}, {"how", how}});
    report.yes = false;
  }
}

}  // namespace

absl::StatusOr<Report> diff_packages(const CommandArguments& arguments) {
  auto a = open(arguments.files[0]), b = open(arguments.files[1]);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  Report report;
  report.json["differences"] = nlohmann::ordered_json::array();
  compare(
      "section", a->sections, b->sections,
      [](const Section& x, const Section& y) { return x.sha256 == y.sha256; }, report);
  compare(
      "weight", a->weights, b->weights,
      [](const StoredTensor& x, const StoredTensor& y) {
        return x.dtype == y.dtype && x.sizes == y.sizes && x.bytes == y.bytes;
      },
      report);
  return report;
}

}  // namespace torchdyn
