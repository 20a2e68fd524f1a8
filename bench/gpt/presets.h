// The sizes of GPT that the demo trains.
//   const Preset& preset = find_preset("gpt2");      // throws UsageError
#pragma once

#include <string>

#include "bench/gpt/model.h"

namespace gpt {

struct Preset {
  const char* name;
  GptConfig config;  // vocabulary 0: the characters of the text
  int64_t rows;      // of a batch
  bool autocast;     // to bf16, on a GPU
};

const Preset& find_preset(const std::string& name);

}  // namespace gpt
