#include "bench/gpt/presets.h"

#include "bench/gpt/options.h"

namespace gpt {
namespace {

const Preset kPresets[] = {
    {"char", {.vocabulary = 0}, 8, false},
    {"gpt2",
     {.vocabulary = 50304, .layers = 12, .width = 768, .heads = 12, .context = 512},
     16,
     true},
};

}  // namespace

const Preset& find_preset(const std::string& name) {
  for (const Preset& preset : kPresets)
    if (name == preset.name) return preset;
  throw UsageError("--preset is char or gpt2, not " + name);
}

}  // namespace gpt
