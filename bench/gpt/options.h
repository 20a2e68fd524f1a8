// The demo's command line.
//   Options options = parse_options({argv + 1, argv + argc});   // throws UsageError
//   if (options.help) std::cout << help_text();
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpt {

struct Options {
  std::string text;     // a file; empty: the header files of the LibTorch this was built with
  int64_t steps = 60;   // trained by each of eager and compiled
  int64_t threads = 0;  // of LibTorch; 0: as many as it chooses
  int64_t seed = 7;
  double dropout = 0;
  std::string device = "cpu";   // or "cuda"
  std::string preset = "char";  // see presets.h
  std::string autocast;         // "bf16" or "off"; empty: as the preset says for the device
  bool help = false;

  // How the demo calls itself to see a first step in a fresh process; see first_steps.h.
  std::string first_steps_of;
  int64_t spawned_at_ns = 0;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Options parse_options(const std::vector<std::string>& arguments);

// The arguments that parse to `options`.
std::vector<std::string> format_options(const Options& options);

std::string help_text();

}  // namespace gpt
