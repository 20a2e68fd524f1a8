// A host compiler that rejects what contains a text, while it lives.
//   const ScratchDirectory cache;
//   const Variable path("TORCHDYN_CACHE_DIR", cache.path());    // nothing was built before
//   const PickyCompiler compiler("void mul_tanh_");
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"

namespace inductor {

class PickyCompiler {
 public:
  explicit PickyCompiler(const std::string& text) : wish_("TORCHDYN_CXX", folder_.path() + "/c++") {
    std::ofstream(folder_.path() + "/c++")
        << "#!/bin/sh\nfor f; do case $f in *.cc) if grep -q '" << text << "' $f; then echo it has "
        << text << "; exit 1; fi;; esac; done\nexec g++ \"$@\"\n";
    std::filesystem::permissions(folder_.path() + "/c++", std::filesystem::perms::owner_all);
  }

 private:
  ScratchDirectory folder_;
  Variable wish_;
};

}  // namespace inductor
