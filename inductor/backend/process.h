// Runs a program without a shell, its output going to a file.
//   auto exit_code = run_process({"g++", "--version"}, "/tmp/log", std::chrono::seconds(10));
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inductor {

// The exit code; 128 + n when signal n ended it. `log` is made anew. A program that is still
// running after `timeout` is killed with all its children: DeadlineExceeded. A program that cannot
// be started: NotFound.
absl::StatusOr<int> run_process(const std::vector<std::string>& argv, const std::string& log,
                                std::chrono::milliseconds timeout);

}  // namespace inductor
