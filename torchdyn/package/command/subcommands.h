// What a subcommand gets and gives.
//   Report report = inspect(arguments);      // one form for people, one for programs
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include <nlohmann/json.hpp>

namespace torchdyn {

struct CommandArguments {
  std::vector<std::string> files;
  std::map<std::string, std::string> options;  // "--calls" -> "100"
};

std::string option(const CommandArguments& arguments, const std::string& name,
                   std::string_view otherwise = "");

struct Report {
  std::string text;
  nlohmann::ordered_json json;
  bool yes = true;  // else the exit status is 1
};

absl::StatusOr<Report> inspect(const CommandArguments& arguments);
absl::StatusOr<Report> sign_package(const CommandArguments& arguments);
absl::StatusOr<Report> verify_package(const CommandArguments& arguments);
absl::StatusOr<Report> extract_section(const CommandArguments& arguments);
absl::StatusOr<Report> run_package(const CommandArguments& arguments);
absl::StatusOr<Report> bench_package(const CommandArguments& arguments);
absl::StatusOr<Report> diff_packages(const CommandArguments& arguments);

}  // namespace torchdyn
