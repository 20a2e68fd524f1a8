// Why capture stops, as rows: graph_break.def.
//   break_graph(BreakReason::kCall, "print");
//   explain(what) == "a call of something other than a tensor function: print"
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace torchdyn {

enum class BreakReason : uint8_t {
#define GRAPH_BREAK(name, ...) name,
#include "torchdyn/capture/graph_break.def"
#undef GRAPH_BREAK
};

// Thrown by handlers; caught where a frame's capture is run, never across a frame of CPython.
class GraphBreak : public std::runtime_error {
 public:
  GraphBreak(BreakReason reason, std::string detail);

  BreakReason reason() const { return reason_; }
  int id() const;
  const char* advice() const;

 private:
  BreakReason reason_;
};

// what(): the reason's title and the detail.
[[noreturn]] void break_graph(BreakReason reason, std::string detail);

}  // namespace torchdyn
