#include "torchdyn/broken.h"

#include "aten_bridge/base/broken.h"
#include "aten_bridge/base/digest.h"
#include "inductor/repro.h"

namespace torchdyn {

std::string reason_of(const aten_bridge::InternalError& error, const Options& options,
                      const std::string& graph) {
  const auto* broken = dynamic_cast<const aten_bridge::Broken*>(&error);
  const std::string& text = broken ? broken->artefact : graph;
  std::string reason = std::string("internal error, please report it: ") + error.what();
  if (!text.empty()) {
    const std::string folder = inductor::write_repro(
        {.name = "fault_" + aten_bridge::digest({text, error.what()}).substr(0, 8),
         .problem = std::string("A check of torchdyn on itself failed:\n") + error.what(),
         .graph = text,
         .options = options.str()});
    if (!folder.empty()) reason += "; a repro is in " + folder;
  }
  if (options.strict) throw InternalFailure(reason);
  return reason;
}

void check_rejections(const Explanation::Variant& variant, const Options& options) {
  if (!options.strict) return;
  for (const Explanation::Graph& graph : variant.graphs)
    if (!graph.rejected.empty())
      throw InternalFailure("a compiler rejected the kernel " + graph.rejected[0]);
}

}  // namespace torchdyn
