#include "torchdyn/package/results.h"

#include <array>

namespace torchdyn {
namespace {

// In the order of ResultSource::Kind.
constexpr std::array<std::string_view, 5> kKinds = {"undefined", "graph", "input", "view_of_input",
                                                    "view_of_graph"};

}  // namespace

PackagedResult to_manifest(const aten_bridge::ResultSource& s) {
  return {std::string(kKinds[static_cast<size_t>(s.kind)]),
          s.index,
          s.sizes,
          s.strides,
          s.offset,
          s.detached};
}

aten_bridge::ResultSource from_manifest(const PackagedResult& r) {
  size_t kind = 0;
  while (kind + 1 < kKinds.size() && kKinds[kind] != r.kind) ++kind;
  return {static_cast<aten_bridge::ResultSource::Kind>(kind),
          r.index,
          r.sizes,
          r.strides,
          r.offset,
          r.detached};
}

}  // namespace torchdyn
