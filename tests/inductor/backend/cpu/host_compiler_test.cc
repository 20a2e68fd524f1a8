#include "inductor/backend/cpu/host_compiler.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/inductor/cache/text_backend.h"
#include "tests/inductor/support/variable.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;

std::string make_program(const ScratchDirectory& folder, const std::string& name,
                         const std::string& script) {
  const std::string path = folder.path() + "/" + name;
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(HostCompiler, PrefersTheVariableOfTorchdyn) {
  ScratchDirectory folder;
  const std::string ours = make_program(folder, "ours", "exit 0");
  const std::string theirs = make_program(folder, "theirs", "exit 0");
  Variable cxx("CXX", theirs);
  EXPECT_EQ(host_compiler()->command[0], theirs);
  Variable torchdyn_cxx("TORCHDYN_CXX", ours + " -fsome-flag");
  EXPECT_THAT(host_compiler()->command, ::testing::ElementsAre(ours, "-fsome-flag"));
}

TEST(HostCompiler, SearchesThePath) {
  ScratchDirectory folder;
  const std::string gxx = make_program(folder, "g++", "exit 0");
  Variable no_wish("TORCHDYN_CXX", ""), no_cxx("CXX", ""), path("PATH", folder.path());
  EXPECT_EQ(host_compiler()->command[0], gxx);
}

TEST(HostCompiler, NamesWhatItTriedWhenThereIsNone) {
  Variable no_wish("TORCHDYN_CXX", ""), no_cxx("CXX", ""), path("PATH", "/nonexistent");
  auto compiler = host_compiler();
  ASSERT_FALSE(compiler.ok());
  EXPECT_THAT(std::string(compiler.status().message()), HasSubstr("g++, c++, clang++"));
}

TEST(HostCompiler, AMissingWishIsAnErrorNotASearch) {
  Variable wish("TORCHDYN_CXX", "no-such-compiler");
  auto compiler = host_compiler();
  ASSERT_FALSE(compiler.ok());
  EXPECT_THAT(std::string(compiler.status().message()), HasSubstr("no-such-compiler"));
}

TEST(HostCompiler, AnotherFileOfTheSameNameHasAnotherIdentity) {
  ScratchDirectory one, two;
  make_program(one, "g++", "exit 0");
  make_program(two, "g++", "exit 1");
  Variable no_wish("TORCHDYN_CXX", "g++");
  std::string first, second;
  {
    Variable path("PATH", one.path());
    first = host_compiler()->identity;
  }
  Variable path("PATH", two.path());
  second = host_compiler()->identity;
  EXPECT_NE(first, second);
}

TEST(HostCompiler, AFailureLeavesItsWordsInTheLog) {
  ScratchDirectory folder;
  Variable wish("TORCHDYN_CXX", make_program(folder, "cxx", "echo no licence >&2; exit 1"));
  const BuildFiles files{folder.path() + "/k.cc", folder.path() + "/k.so", folder.path() + "/log"};
  EXPECT_FALSE(compile_shared_object(*host_compiler(), files).ok());
  std::ifstream log(files.log);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(log), {}), HasSubstr("no licence"));
}

TEST(HostCompiler, ACompilerThatHangsIsGivenUp) {
  ScratchDirectory folder;
  Variable wish("TORCHDYN_CXX", make_program(folder, "cxx", "sleep 30"));
  const BuildFiles files{folder.path() + "/k.cc", folder.path() + "/k.so", folder.path() + "/log"};
  const auto status =
      compile_shared_object(*host_compiler(), files, {}, std::chrono::milliseconds(100));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace inductor
