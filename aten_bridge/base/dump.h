// Looking inside: artefacts on their way through the stages of dump.def.
//   dump(DumpStage::kForward, "", [&] { return print(graph); });
//
//   TORCHDYN_DUMP=graph,loops    which stages (all: every one; help: prints the table)
//   TORCHDYN_DUMP_DIR=d          numbered files there (40_forward.txt, 40_forward.2.txt), else
//   stderr
// Law
//  - Text is made only where it is wanted. Any thread may dump; a process never writes a file
//  twice.
//  - A wrong stage's name is reported once, with the valid ones, and otherwise ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace aten_bridge {

enum class DumpStage : uint8_t {
#define DUMP_STAGE(name, ...) name,
#include "aten_bridge/base/dump.def"
#undef DUMP_STAGE
};

// As the environment of this process asks. `name` tells artefacts of one stage apart
// ("softmax.cpp"); its extension, if it has one, becomes the file's.
bool dump_wanted(DumpStage stage);
void dump(DumpStage stage, std::string_view name, const std::function<std::string()>& text);

std::string dump_help();

// What stands behind those two, with the environment as arguments.
class Dumper {
 public:
  Dumper(std::string_view stages, std::string directory);
  bool wanted(DumpStage stage) const { return wanted_ >> static_cast<int>(stage) & 1; }
  void write(DumpStage stage, std::string_view name, const std::string& text);

 private:
  std::string next_path(DumpStage stage, std::string_view name);

  uint32_t wanted_ = 0;  // a bit a stage
  std::string directory_;
  std::mutex mutex_;
  std::map<std::string, int> written_;  // how often, by file name without extension
};

}  // namespace aten_bridge
