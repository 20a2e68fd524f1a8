// Compile options, from options.def.
//   Options options;
//   options.fullgraph = true;
//   set(options, "recompile_limit", "16");     // by name; an error lists the names there are
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "aten_bridge/base/numerics.h"

namespace aten_bridge {

struct Options {
#define OPTION(name, type, value, doc) type name = value;
#include "aten_bridge/base/options.def"
#undef OPTION
  bool operator==(const Options&) const = default;
};

absl::Status set(Options& options, std::string_view name, std::string_view value);
// "fullgraph=false recompile_limit=8 numerics=default"; each part reads back through set().
std::string print(const Options& options);
std::string options_help();

}  // namespace aten_bridge
