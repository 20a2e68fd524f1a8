#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace torchdyn::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = TORCHDYN_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Golden parse(const fs::path& path) {
  Golden golden;
  golden.path = fs::relative(path, kSource);
  std::istringstream in(read(path));
  std::string* section = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("--- ")) {
      const std::string name = line.substr(4);
      section =
          name == "expect" ? &golden.expected : &golden.sections.emplace_back(name, "").second;
    } else if (section) {
      *section += line + "\n";
    } else if (line.starts_with("stage: ")) {
      golden.stage = line.substr(7);
    }
  }
  return golden;
}

void rebase(const Golden& golden, const std::string& actual) {
  const fs::path path = kSource / golden.path;
  const std::string text = read(path);
  const std::string mark = "--- expect\n";
  const size_t at = text.find(mark);
  std::ofstream(path) << text.substr(0, at) << (at == text.npos ? "\n" : "") << mark << actual;
}

}  // namespace

const std::string& Golden::section(std::string_view name) const {
  static const std::string kNone;
  for (const auto& [key, text] : sections)
    if (key == name) return text;
  ADD_FAILURE() << path << ": no section " << name;
  return kNone;
}

std::vector<Golden> goldens(std::string_view folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/golden" / folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Golden> all;
  for (const fs::path& path : paths) all.push_back(parse(path));
  EXPECT_FALSE(all.empty()) << "no goldens in " << folder;
  return all;
}

void check(const Golden& golden, const std::string& actual) {
  if (std::getenv("TORCHDYN_REBASE")) return rebase(golden, actual);
  EXPECT_EQ(actual, golden.expected) << golden.path << " (stage " << golden.stage << ")";
}

}  // namespace torchdyn::testing
