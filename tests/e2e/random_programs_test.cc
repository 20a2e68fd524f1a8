// Programs made at random give eager's results compiled, forward and backward.
//
// A failure is made as small as it can be and printed. From the environment:
//   TORCHDYN_RANDOM_PROGRAM=FILE   the programs of a file, as printed, instead
//   TORCHDYN_RANDOM_SEED=N         from this seed on (0)
//   TORCHDYN_RANDOM_COUNT=N        so many (150)
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "absl/strings/str_split.h"

#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/interpret.h"
#include "tests/e2e/random/generate.h"
#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"
#include "torchdyn/replay/check.h"
#include "torchdyn/replay/indices.h"
#include "torchdyn/replay/judge.h"
#include "torchdyn/replay/shrink.h"

namespace torchdyn::testing {
namespace {

using aten_bridge::Graph;
using replay::Check;
using replay::Failure;
using replay::index_limit;
using replay::inputs_of;
using replay::report;
using replay::shrink;
using replay::smaller;
using replay::Tensors;

constexpr size_t kTogether = 50;  // programs whose kernels are built at once

std::vector<std::string> check_compiled(const std::vector<Graph>& programs) {
  return replay::check_compiled(programs, Numerics::kDefault);
}

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

std::vector<Graph> programs_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::vector<Graph> programs;
  for (const std::string& one :
       std::vector<std::string>(absl::StrSplit(text.str(), "\n\n", absl::SkipWhitespace()))) {
    auto program = aten_bridge::parse_graph(one);
    EXPECT_TRUE(program.ok()) << path << ": " << program.status();
    if (program.ok()) programs.push_back(*std::move(program));
  }
  EXPECT_FALSE(programs.empty()) << "no program in " << path;
  return programs;
}

void check_all(std::vector<Graph> programs) {
  const std::vector<std::string> problems = check_compiled(programs);
  for (size_t i = 0; i < programs.size(); ++i) {
    if (problems[i].empty()) continue;
    const std::string name = programs[i].name;
    const Failure smallest = shrink({std::move(programs[i]), problems[i]}, check_compiled);
    ADD_FAILURE() << name << ": " << problems[i] << "\nsmaller:\n" << report(smallest);
  }
}

TEST(RandomPrograms, GiveEagersResultsCompiled) {
  if (const char* path = std::getenv("TORCHDYN_RANDOM_PROGRAM"))
    return check_all(programs_of(path));
  const int first = number_from("TORCHDYN_RANDOM_SEED", 0);
  const int end = first + number_from("TORCHDYN_RANDOM_COUNT", 150);
  for (int seed = first; seed < end;) {
    std::vector<Graph> programs;
    for (; seed < end && programs.size() < kTogether; ++seed)
      programs.push_back(random_program(static_cast<unsigned>(seed)));
    check_all(std::move(programs));
  }
}

TEST(RandomPrograms, AProgramIsItsSeeds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::string text = print(random_program(seed));
    EXPECT_EQ(print(random_program(seed)), text);
    EXPECT_EQ(print(*aten_bridge::parse_graph(text)), text);
  }
}

// ---- The shrinker -------------------------------------------------------------------------------

// Programs run with another operator in the place of one.
Check check_with(const std::string& op, const std::string& wrong) {
  return [op, wrong](const std::vector<Graph>& programs) {
    std::vector<std::string> problems;
    for (const Graph& program : programs) {
      Graph faulty = *aten_bridge::parse_graph(print(program));
      for (const auto& node : faulty.nodes())
        if (node->op == op) node->op = wrong;
      problems.push_back(replay::difference(program, replay::eager(faulty)));
    }
    return problems;
  };
}

Failure first_failure(const Check& check) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::vector<Graph> program;
    program.push_back(random_program(seed));
    const std::string problem = check(program)[0];
    if (!problem.empty() && program[0].nodes().size() > 5) return {std::move(program[0]), problem};
  }
  ADD_FAILURE() << "no program shows the fault";
  return {Graph("none"), ""};
}

// With the largest indices that its inputs may hold; a CPU raises where a GPU would end the
// process.
void expect_indices_in_range(const Graph& program) {
  Tensors inputs = inputs_of(program);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto limit = index_limit(program.inputs()[i].node->name)) inputs[i].fill_(*limit - 1);
  EXPECT_NO_THROW(aten_bridge::interpret(program, inputs)) << print(program);
}

TEST(RandomPrograms, IndexInRangeHoweverSmallTheyGet) {
  if (!test_device().is_cpu()) GTEST_SKIP() << "an index out of range ends the process there";
  int with_indices = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Graph program = random_program(seed);
    const auto& inputs = program.inputs();
    if (std::none_of(inputs.begin(), inputs.end(),
                     [](const auto& input) { return input.node->name[0] == 'i'; }))
      continue;
    ++with_indices;
    expect_indices_in_range(program);
    for (const Graph& smaller : smaller(program)) expect_indices_in_range(smaller);
  }
  EXPECT_GT(with_indices, 5);
}

TEST(RandomPrograms, AWrongOperatorIsFoundAndNothingElseIsLeft) {
  const std::pair<std::string, std::string> faults[] = {{"aten::tanh", "aten::sigmoid"},
                                                        {"aten::cumsum", "aten::cumprod"},
                                                        {"aten::amax", "aten::amin"}};
  for (const auto& [op, wrong] : faults) {
    const Check check = check_with(op, wrong);
    const Failure smallest = shrink(first_failure(check), check);
    SCOPED_TRACE(report(smallest));
    ASSERT_EQ(smallest.program.nodes().size(), 1u);
    EXPECT_EQ(smallest.program.nodes()[0]->op, op);
    EXPECT_EQ(smallest.program.inputs().size(), 1u);
    for (const auto& size : smallest.program.inputs()[0].type().sizes)
      EXPECT_LE(size.as_constant(), 2);
  }
}

}  // namespace
}  // namespace torchdyn::testing
