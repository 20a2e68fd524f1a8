#include "torchdyn/package/command/command.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <ostream>

#include "torchdyn/package/command/subcommands.h"

namespace torchdyn {
namespace {

struct Row {
  const char* name;
  size_t files;
  std::vector<std::string> options;  // each takes a value
  absl::StatusOr<Report> (*run)(const CommandArguments& arguments);
  const char* usage;
};

const std::vector<Row>& rows() {
  static const auto& rows = *new std::vector<Row>{
      {"inspect", 1, {}, inspect, "inspect PACKAGE      inputs, results, what it calls, sections"},
      {"verify",
       1,
       {"--key"},
       verify_package,
       "verify PACKAGE [--key PUBLIC.PEM]\n"
       "                       compares every digest, and the signature with a key"},
      {"sign",
       1,
       {"--key", "--output"},
       sign_package,
       "sign PACKAGE --key PRIVATE.PEM --output PACKAGE\n"
       "                       Ed25519, as `openssl genpkey -algorithm ed25519` makes keys"},
      {"run",
       1,
       {"--method", "--inputs", "--outputs"},
       run_package,
       "run PACKAGE [--method NAME] [--inputs FILE] [--outputs FILE]\n"
       "                       one call; files of tensors in safetensors' layout, inputs by their\n"
       "                       names; without them numbers are made up"},
      {"bench",
       1,
       {"--method", "--calls"},
       bench_package,
       "bench PACKAGE [--method NAME] [--calls N]   milliseconds"},
      {"extract",
       1,
       {"--section", "--output"},
       extract_section,
       "extract PACKAGE [--section NAME] --output FILE\n"
       "                       the weights, or another section; optimizer.safetensors is one"},
      {"diff", 2, {}, diff_packages, "diff PACKAGE PACKAGE  which sections and weights differ"},
  };
  return rows;
}

int explain_usage(std::ostream& err) {
  err << "torchdyn COMMAND ... [--json]\n";
  for (const Row& row : rows()) err << "  " << row.usage << "\n";
  return 2;
}

}  // namespace

std::string option(const CommandArguments& arguments, const std::string& name,
                   std::string_view otherwise) {
  const auto found = arguments.options.find(name);
  return found == arguments.options.end() ? std::string(otherwise) : found->second;
}

int run_command(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto row = std::find_if(rows().begin(), rows().end(),
                                [&](const Row& r) { return !words.empty() && r.name == words[0]; });
  if (row == rows().end()) return explain_usage(err);
  CommandArguments arguments;
  bool json = false;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--json") {
      json = true;
    } else if (!words[i].starts_with("--")) {
      arguments.files.push_back(words[i]);
    } else if (std::count(row->options.begin(), row->options.end(), words[i]) &&
               i + 1 < words.size()) {
      arguments.options[words[i]] = words[i + 1];
      ++i;
    } else {
      return explain_usage(err);
    }
  }
  if (arguments.files.size() != row->files) return explain_usage(err);
  std::string problem;
  try {
    auto report = row->run(arguments);
    if (report.ok()) {
      out << (json ? report->json.dump(2) + "\n" : report->text);
      return report->yes ? 0 : 1;
    }
    problem = std::string(report.status().message());
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (json) out << nlohmann::ordered_json{{"error", problem}}.dump(2) << "\n";
  err << "torchdyn " << row->name << ": " << problem << "\n";
  return 1;
}

}  // namespace torchdyn
