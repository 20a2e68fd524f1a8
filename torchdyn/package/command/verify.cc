// Whether a file is what it was, and whose: verify, sign.
#include "torchdyn/package/command/subcommands.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"
#include "torchdyn/package/format/signature.h"

namespace torchdyn {
namespace {

absl::StatusOr<std::string> read_key(const CommandArguments& arguments) {
  auto file = MappedFile::open(option(arguments, "--key"));
  if (!file.ok()) return file.status();
  return std::string((*file)->bytes());
}

// `key`: empty where nobody asks who made it.
absl::Status check(std::string_view bytes, const std::string& key) {
  auto container = Container::parse(bytes);
  if (!container.ok()) return container.status();
  const absl::Status whole =
      key.empty() ? container->check_all() : check_signature(*container, key);
  if (!whole.ok()) return whole;
  auto text = container->bytes("manifest.json");
  return text.ok() ? parse_manifest(*text).status() : text.status();
}

}  // namespace

absl::StatusOr<Report> verify_package(const CommandArguments& arguments) {
  auto file = MappedFile::open(arguments.files[0]);
  if (!file.ok()) return file.status();
  std::string key;
  if (!option(arguments, "--key").empty()) {
    auto read = read_key(arguments);
    if (!read.ok()) return read.status();
    key = *std::move(read);
  }
  const absl::Status status = check((*file)->bytes(), key);
  const char* what = key.empty() ? "whole" : "whole, and signed by this key's owner";
  Report report;
  report.yes = status.ok();
  report.text = (status.ok() ? what : std::string(status.message())) + "\n";
  report.json = {{"whole", status.ok()}, {"reason", std::string(status.message())}};
  return report;
}

absl::StatusOr<Report> sign_package(const CommandArguments& arguments) {
  auto file = MappedFile::open(arguments.files[0]);
  if (!file.ok()) return file.status();
  auto container = Container::parse((*file)->bytes());
  if (!container.ok()) return container.status();
  auto key = read_key(arguments);
  if (!key.ok()) return key.status();
  const std::string output = option(arguments, "--output");
  if (output.empty()) return absl::InvalidArgumentError("--output names no file");
  if (absl::Status written = write_signed(*container, *key, output); !written.ok()) return written;
  Report report;
  report.text = "signed " + output + "\n";
  report.json = {{"signed", output}};
  return report;
}

}  // namespace torchdyn
