#include <map>
#include <ostream>
#include <sstream>

#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

void print_extern_calls(std::ostream& out, const std::vector<std::string>& calls) {
  std::map<std::string, int> counts;
  for (const std::string& op : calls) ++counts[op];
  for (const auto& [op, count] : counts) out << "    extern " << op << " x" << count << "\n";
}

void print_graph(std::ostream& out, const Explanation::Graph& graph) {
  int launches = 0;
  for (const auto& k : graph.kernels) launches += k.launches;
  out << "  graph " << graph.name << ": " << launches << " kernel launches, "
      << graph.extern_calls.size() << " extern calls\n";
  for (const auto& k : graph.kernels) {
    out << "    kernel " << k.name << " x" << k.launches << ", " << k.bytes << " bytes, fuses";
    for (const auto& origin : k.origins) out << " " << origin;
    out << "\n";
  }
  print_extern_calls(out, graph.extern_calls);
  for (const std::string& reason : graph.not_fused) out << "    not fused: " << reason << "\n";
  for (const std::string& kernel : graph.rejected) out << "    rejected: " << kernel << "\n";
}

void print_variant(std::ostream& out, const Explanation::Variant& variant) {
  if (!variant.eager_reason.empty()) {
    out << " runs in eager: " << variant.eager_reason << "\n";
  } else {
    out << " compiled (capture " << variant.capture_ms << " ms, compile " << variant.compile_ms
        << " ms)\n";
  }
  if (!variant.fixed_reason.empty()) out << "  sizes are fixed: " << variant.fixed_reason << "\n";
  if (!variant.replay.empty()) out << "  " << variant.replay << "\n";
  for (const std::string& guard : variant.guards) out << "  guard " << guard << "\n";
  for (const Explanation::Graph& graph : variant.graphs) print_graph(out, graph);
}

}  // namespace

int Explanation::kernel_launches() const {
  int launches = 0;
  for (const Variant& variant : variants)
    for (const Graph& graph : variant.graphs)
      for (const Kernel& kernel : graph.kernels) launches += kernel.launches;
  return launches;
}

std::string Explanation::str() const {
  std::ostringstream out;
  out << *this;
  return out.str();
}

std::ostream& operator<<(std::ostream& out, const Explanation& explanation) {
  if (explanation.variants.empty()) out << "not called yet\n";
  for (size_t i = 0; i < explanation.variants.size(); ++i) {
    out << "variant " << i;
    print_variant(out, explanation.variants[i]);
  }
  for (const std::string& reason : explanation.recompile_reasons)
    out << "recompiled: " << reason << "\n";
  for (const std::string& reason : explanation.refusals) out << "runs in eager: " << reason << "\n";
  return out;
}

}  // namespace torchdyn
