#include "aten_bridge/base/dump.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/once.h"
#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

struct Row {
  std::string_view name;
  int number;
  std::string_view what;
};

constexpr Row kRows[] = {
#define DUMP_STAGE(enumerator, name, number, what) {#name, number, what},
#include "aten_bridge/base/dump.def"
#undef DUMP_STAGE
};

const Row& row(DumpStage stage) { return kRows[static_cast<int>(stage)]; }

std::string valid_names() {
  std::string names;
  for (const Row& r : kRows) str_append(&names, r.name, ", ");
  return names + "all, help";
}

std::string as_file_name(std::string_view name) {
  std::string file(name);
  for (char& c : file)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '_';
  return file;
}

bool write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file << text;
  return file.flush().good();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Dumper& of_process() {
  static auto& instance =
      *new Dumper(environment("TORCHDYN_DUMP"), environment("TORCHDYN_DUMP_DIR"));
  return instance;
}

}  // namespace

std::string dump_help() {
  std::string help = "TORCHDYN_DUMP takes names from this list, separated by commas:\n";
  for (const Row& r : kRows)
    absl::StrAppendFormat(&help, "  %-9s %s\n", to_absl(r.name), to_absl(r.what));
  return help +
         "  all       every stage\n"
         "TORCHDYN_DUMP_DIR=d writes numbered files into d instead of stderr.";
}

Dumper::Dumper(std::string_view stages, std::string directory) : directory_(std::move(directory)) {
  for (absl::string_view part : absl::StrSplit(to_absl(stages), ',', absl::SkipWhitespace())) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(part);
    const std::string_view name(trimmed.data(), trimmed.size());
    const auto found = std::find_if(std::begin(kRows), std::end(kRows),
                                    [&](const Row& r) { return r.name == name; });
    if (found != std::end(kRows)) {
      wanted_ |= 1u << (found - kRows);
    } else if (name == "all") {
      wanted_ = ~0u;
    } else if (name == "help") {
      say_once("dump help", dump_help());
    } else {
      say_once(str_cat("dump ", name), str_cat("TORCHDYN_DUMP: there is no stage \"", name,
                                               "\"; the stages are ", valid_names()));
    }
  }
}

std::string Dumper::next_path(DumpStage stage, std::string_view name) {
  const size_t dot = std::min(name.rfind('.'), name.size());
  std::string stem = str_cat(row(stage).number, "_", row(stage).name);
  if (dot > 0) str_append(&stem, "_", as_file_name(name.substr(0, dot)));
  const int count = ++written_[stem];
  return str_cat(directory_, "/", stem, count == 1 ? "" : str_cat(".", count),
                 dot < name.size() ? as_file_name(name.substr(dot)) : ".txt");
}

void Dumper::write(DumpStage stage, std::string_view name, const std::string& text) {
  std::lock_guard lock(mutex_);
  if (!directory_.empty()) {
    const std::string path = next_path(stage, name);
    if (write_file(path, text)) return;
    say_once("dump directory", str_cat("cannot write ", path, ": dumping to stderr"));
  }
  const std::string title = str_cat(row(stage).name, name.empty() ? "" : " ", name);
  std::fprintf(stderr, "--- %s\n%s%s", title.c_str(), text.c_str(),
               !text.empty() && text.back() == '\n' ? "" : "\n");
}

bool dump_wanted(DumpStage stage) { return of_process().wanted(stage); }

void dump(DumpStage stage, std::string_view name, const std::function<std::string()>& text) {
  if (dump_wanted(stage)) of_process().write(stage, name, text());
}

}  // namespace aten_bridge
