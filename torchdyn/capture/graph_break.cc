#include "torchdyn/capture/graph_break.h"

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

struct Row {
  int id;
  const char *title, *advice;
};

constexpr Row kRows[] = {
#define GRAPH_BREAK(name, id, title, advice) {id, title, advice},
#include "torchdyn/capture/graph_break.def"
#undef GRAPH_BREAK
};

const Row& row(BreakReason reason) { return kRows[static_cast<int>(reason)]; }

std::string sentence(BreakReason reason, const std::string& detail) {
  return aten_bridge::str_cat(row(reason).title, detail.empty() ? "" : ": ", detail);
}

}  // namespace

GraphBreak::GraphBreak(BreakReason reason, std::string detail)
    : std::runtime_error(sentence(reason, detail)), reason_(reason) {}

int GraphBreak::id() const { return row(reason_).id; }

const char* GraphBreak::advice() const { return row(reason_).advice; }

void break_graph(BreakReason reason, std::string detail) {
  throw GraphBreak(reason, std::move(detail));
}

}  // namespace torchdyn
