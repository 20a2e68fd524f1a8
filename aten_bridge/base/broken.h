// What was being made when an internal check failed, as a text that a repro can hold.
//   return while_making([&] { return print(graph); }, [&] { return plan(graph); });
#pragma once

#include <string>
#include <utility>

#include "aten_bridge/base/check.h"

namespace aten_bridge {

class Broken : public InternalError {
 public:
  Broken(const InternalError& error, std::string artefact)
      : InternalError(error.what()), artefact(std::move(artefact)) {}

  std::string artefact;  // empty: it is broken beyond printing
};

// Runs `make`. An InternalError of it becomes a Broken with the text, unless it is one already: the
// innermost artefact is the nearest to the fault.
template <class Text, class Make>
auto while_making(Text text, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const Broken&) {
    throw;
  } catch (const InternalError& error) {
    std::string artefact;
    try {
      artefact = text();
    } catch (const std::exception&) {
      artefact.clear();
    }
    throw Broken(error, std::move(artefact));
  }
}

}  // namespace aten_bridge
