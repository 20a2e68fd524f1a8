#include "tests/inductor/support/shared_object.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"

namespace inductor::testing {

std::shared_ptr<void> compile_shared_object(const std::string& text, const std::string& flags) {
  std::string folder = (std::filesystem::temp_directory_path() / "td_kernels_XXXXXX").string();
  TD_CHECK(mkdtemp(folder.data()), "no temporary folder");
  std::ofstream(folder + "/k.cc") << text;
  const char* compiler = std::getenv("CXX");
  const std::string command =
      aten_bridge::str_cat(compiler ? compiler : "c++", " -std=c++20 ", flags,
                           " -fwrapv -ffp-contract=off -shared -fPIC -w -o ", folder, "/k.so ",
                           folder, "/k.cc > ", folder, "/log 2>&1");
  TD_CHECK(std::system(command.c_str()) == 0, "the compiler failed: see ", folder, "/log");
  // Lazily: functions of libtorch_cpu that no test calls may be missing.
  std::shared_ptr<void> library{dlopen((folder + "/k.so").c_str(), RTLD_LAZY | RTLD_LOCAL),
                                [](void* handle) { dlclose(handle); }};
  TD_CHECK(library, dlerror());
  std::filesystem::remove_all(folder);
  return library;
}

void* function(const std::shared_ptr<void>& library, const std::string& name) {
  void* found = dlsym(library.get(), name.c_str());
  TD_CHECK(found, "no function ", name);
  return found;
}

}  // namespace inductor::testing
