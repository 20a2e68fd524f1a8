#include "aten_bridge/base/options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

absl::Status read(std::string_view text, bool* value) {
  if (absl::SimpleAtob(to_absl(text), value)) return absl::OkStatus();
  return absl::InvalidArgumentError("true or false");
}

absl::Status read(std::string_view text, int64_t* value) {
  if (absl::SimpleAtoi(to_absl(text), value)) return absl::OkStatus();
  return absl::InvalidArgumentError("an integer");
}

absl::Status read(std::string_view text, Numerics* value) {
  if (text != "default" && text != "eager") return absl::InvalidArgumentError("default or eager");
  *value = text == "eager" ? Numerics::kEager : Numerics::kDefault;
  return absl::OkStatus();
}

std::string write(bool value) { return value ? "true" : "false"; }
std::string write(int64_t value) { return str_cat(value); }
std::string write(Numerics value) { return value == Numerics::kEager ? "eager" : "default"; }

std::string names() {
  std::string all;
#define OPTION(name, ...) str_append(&all, all.empty() ? "" : ", ", #name);
#include "aten_bridge/base/options.def"
#undef OPTION
  return all;
}

}  // namespace

absl::Status set(Options& options, std::string_view name, std::string_view value) {
#define OPTION(option, type, ...)                                                                 \
  if (name == #option) {                                                                          \
    type parsed;                                                                                  \
    if (auto status = read(value, &parsed); !status.ok())                                         \
      return absl::InvalidArgumentError(str_cat("the option " #option " takes ",                  \
                                                std::string(status.message()), ", not \"", value, \
                                                "\""));                                           \
    options.option = parsed;                                                                      \
    return absl::OkStatus();                                                                      \
  }
#include "aten_bridge/base/options.def"
#undef OPTION
  return absl::InvalidArgumentError(
      str_cat("there is no option \"", name, "\"; the options are ", names()));
}

std::string print(const Options& options) {
  std::string text;
#define OPTION(name, ...) \
  str_append(&text, text.empty() ? "" : " ", #name, "=", write(options.name));
#include "aten_bridge/base/options.def"
#undef OPTION
  return text;
}

std::string options_help() {
  const Options defaults;
  std::string help;
#define OPTION(name, type, value, doc) \
  absl::StrAppendFormat(&help, "%-16s %-8s %s\n", #name, write(defaults.name), doc);
#include "aten_bridge/base/options.def"
#undef OPTION
  return help;
}

}  // namespace aten_bridge
