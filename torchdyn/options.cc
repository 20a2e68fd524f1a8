#include "aten_bridge/base/options.h"

#include <stdexcept>

#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

aten_bridge::Options rows_of(const Options& options) {
  aten_bridge::Options rows;
#define OPTION(name, ...) rows.name = options.name;
#include "aten_bridge/base/options.def"
#undef OPTION
  return rows;
}

}  // namespace

void Options::set(std::string_view name, std::string_view value) {
  aten_bridge::Options rows = rows_of(*this);
  const absl::Status status = aten_bridge::set(rows, name, value);
  if (!status.ok()) throw std::invalid_argument(std::string(status.message()));
#define OPTION(name, ...) name = rows.name;
#include "aten_bridge/base/options.def"
#undef OPTION
}

std::string Options::str() const { return print(rows_of(*this)); }

}  // namespace torchdyn
