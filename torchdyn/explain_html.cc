#include "torchdyn/explain_html.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>torchdyn</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --line: #8884; --bar: #4a7fd6; --bad: #c23; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .2rem .6rem; text-align: left; }
tr + tr td { border-top: 1px solid var(--line); } td.n { text-align: right; white-space: nowrap; }
summary { cursor: pointer; } details { margin: .4rem 0; } ul { margin: .2rem 0; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid var(--line); }
.bar { height: .6rem; background: var(--bar); } .bad { color: var(--bad); }
</style></head><body>
)";

std::string escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string list(const std::vector<std::string>& items) {
  std::string html = "<ul>";
  for (const std::string& item : items) html += str_cat("<li>", escaped(item), "</li>");
  return html + "</ul>\n";
}

// Nothing where there are no items; closed until it is looked at.
std::string fold(const std::string& title, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  return str_cat("<details><summary>", escaped(title), "</summary>", list(items), "</details>\n");
}

std::string bytes(int64_t count) {
  if (count < 10'000) return str_cat(count, " B");
  if (count < 10'000'000) return absl::StrFormat("%.1f kB", 1e-3 * double(count));
  return absl::StrFormat("%.1f MB", 1e-6 * double(count));
}

std::string kernels(const std::vector<Explanation::Kernel>& all) {
  if (all.empty()) return "<p>No kernels.</p>\n";
  int64_t most = 1;
  for (const auto& k : all) most = std::max(most, k.bytes * k.launches);
  std::string html =
      "<table><tr><th>kernel</th><th>fuses</th><th>launches</th><th>bytes</th><th></th></tr>\n";
  for (const auto& k : all) {
    const int64_t moved = k.bytes * k.launches;
    html += str_cat("<tr><td>", escaped(k.name), "</td><td>",
                    escaped(absl::StrJoin(k.origins, ", ")), "</td><td class=n>", k.launches,
                    "</td><td class=n>", bytes(moved), "</td><td style=\"width:20%\">",
                    "<div class=bar style=\"width:", 100 * moved / most, "%\"></div></td></tr>\n");
  }
  return html + "</table>\n";
}

// "aten::mm, 3 times"
std::vector<std::string> counted(const std::vector<std::string>& calls) {
  std::map<std::string, int> counts;
  for (const std::string& call : calls) ++counts[call];
  std::vector<std::string> lines;
  for (const auto& [call, count] : counts)
    lines.push_back(count > 1 ? str_cat(call, ", ", count, " times") : call);
  return lines;
}

std::string graph(const Explanation::Graph& g) {
  std::string html = str_cat("<h3>", escaped(g.name), "</h3>\n", kernels(g.kernels));
  html += fold(str_cat(g.extern_calls.size(), " calls of ATen's own"), counted(g.extern_calls));
  html += fold("why neighbours were not fused", g.not_fused);
  html += fold("kernels that the compiler did not take", g.rejected);
  return html + str_cat("<details><summary>the graph</summary><pre>", escaped(g.text),
                        "</pre></details>\n");
}

std::string variant(const Explanation::Variant& v, size_t number) {
  std::string html = str_cat("<h2>Variant ", number, "</h2>\n");
  if (!v.eager_reason.empty())
    html += str_cat("<p class=bad>Runs in eager: ", escaped(v.eager_reason), "</p>\n");
  else
    html += absl::StrFormat("<p>Captured in %.1f ms, compiled in %.1f ms.</p>\n", v.capture_ms,
                            v.compile_ms);
  if (!v.fixed_reason.empty())
    html += str_cat("<p>Its sizes are fixed: ", escaped(v.fixed_reason), "</p>\n");
  if (!v.replay.empty()) html += str_cat("<p>Calls: ", escaped(v.replay), "</p>\n");
  html += fold(str_cat(v.guards.size(), " guards"), v.guards);
  for (const auto& g : v.graphs) html += graph(g);
  return html;
}

}  // namespace

std::string to_html(const Explanation& explanation) {
  const auto compiled =
      std::count_if(explanation.variants.begin(), explanation.variants.end(),
                    [](const Explanation::Variant& v) { return v.eager_reason.empty(); });
  std::string html(kHead);
  html += str_cat("<h1>What became of the calls</h1>\n<p>", explanation.variants.size(),
                  " variants, ", compiled, " of them compiled; ", explanation.kernel_launches(),
                  " kernel launches, forward and backward of each.</p>\n");
  html += fold("why it was captured again", explanation.recompile_reasons);
  html += fold("why calls ran in eager without a variant", explanation.refusals);
  for (size_t i = 0; i < explanation.variants.size(); ++i)
    html += variant(explanation.variants[i], i);
  return html + "</body></html>\n";
}

}  // namespace torchdyn
