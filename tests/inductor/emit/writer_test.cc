#include "inductor/emit/writer.h"

#include <gtest/gtest.h>

namespace inductor {
namespace {

TEST(Writer, ClosesScopesItself) {
  Writer w;
  {
    auto loop = w.open("for (;;)");
    {
      auto block = w.open("");
      w.line("f();");
    }
    w.line("");
  }
  w.line("end");
  EXPECT_EQ(w.text(), "for (;;) {\n  {\n    f();\n  }\n\n}\nend\n");
}

}  // namespace
}  // namespace inductor
