#include "torchdyn/explain_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using torch::Tensor;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ExplainHtml, ShowsKernelsCallsAndGuards) {
  auto compiled = compile([](const Tensor& x, const Tensor& w) { return x.mm(w).tanh().sum(); });
  compiled(torch::randn({8, 4}), torch::randn({4, 4}).requires_grad_()).backward();
  const std::string html = to_html(explain(compiled));
  EXPECT_THAT(html, AllOf(HasSubstr("Variant 0"), HasSubstr("aten::tanh"), HasSubstr("aten::mm"),
                          HasSubstr("guards</summary>"), HasSubstr("<h3>backward</h3>"),
                          HasSubstr("</html>"), Not(HasSubstr("Runs in eager"))));
  for (const std::string tag : {"details", "summary", "table", "tr", "td", "th", "ul", "li", "pre"})
    EXPECT_EQ(count(html, "<" + tag + ">") + count(html, "<" + tag + " "),
              count(html, "</" + tag + ">"))
        << tag;
}

TEST(ExplainHtml, EscapesWhatItIsTold) {
  Explanation explanation;
  explanation.variants.emplace_back().eager_reason = "a<b> & \"c\"";
  EXPECT_THAT(
      to_html(explanation),
      AllOf(HasSubstr("Runs in eager: a&lt;b&gt; &amp; &quot;c&quot;"), Not(HasSubstr("a<b>"))));
}

// A page that can be mailed: no address, no script.
TEST(ExplainHtml, NeedsNothingElse) {
  EXPECT_THAT(to_html(Explanation()),
              AllOf(Not(HasSubstr("http")), Not(HasSubstr("<script")), Not(HasSubstr("src="))));
}

}  // namespace
}  // namespace torchdyn
