// A GPU's random numbers: Philox by its published vectors, and every element's number against
// ATen's loops, thread by thread, as lowered and as kernels of an imitated GPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "inductor/schedule/schedule.h"
#include "tests/inductor/support/compiled.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_cat;
using Words = std::array<uint32_t, 4>;

Words number(uint64_t seed, uint64_t calls, uint64_t sequence) {
  Words words;
  for (uint64_t n = 0; n < 4; ++n) {
    const ScalarValue args[] = {
        ScalarValue::of_integer(DType::kInt64, static_cast<int64_t>(seed)),
        ScalarValue::of_integer(DType::kInt64, static_cast<int64_t>(calls)),
        ScalarValue::of_integer(DType::kInt64, static_cast<int64_t>(4 * sequence + n))};
    words[n] = static_cast<uint32_t>(evaluate(ScalarOp::philox, args).integer);
  }
  return words;
}

// Of the authors' file of known answers, those whose counter a sequence and calls can have.
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(number(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(number(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// ---- ATen's kernels, thread by thread ----

constexpr uint64_t kSeed = 0x123456789abcdef, kCalls = 1000;

class Thread {  // curand's state
 public:
  explicit Thread(int64_t sequence) : sequence_(static_cast<uint64_t>(sequence)) {}
  Words draw() { return number(kSeed, kCalls + calls_++, sequence_); }

 private:
  uint64_t sequence_, calls_ = 0;
};

int64_t threads_of(int64_t elements, int64_t most_threads) {
  return 256 * std::min((elements + 255) / 256, most_threads / 256);
}

float unit(uint32_t bits) { return std::fma(static_cast<float>(bits), 0x1p-32f, 0x1p-33f); }
double unit(uint32_t low, uint32_t high) {
  const uint64_t bits = low ^ (uint64_t{high} << 21);
  return std::fma(static_cast<double>(bits), 0x1p-53, 0x1p-54);
}

using Take = std::function<double(const Words&, int64_t which)>;

// Each thread's numbers of a call go to elements that are as far apart as there are threads.
std::vector<double> strided(int64_t elements, int64_t most_threads, int64_t many,
                            const Take& take) {
  std::vector<double> out(static_cast<size_t>(elements));
  const int64_t threads = threads_of(elements, most_threads);
  for (int64_t t = 0; t < threads; ++t) {
    Thread thread(t);
    for (int64_t first = t; first < elements; first += threads * many) {
      const Words words = thread.draw();
      for (int64_t n = 0; n < many; ++n)
        if (first + threads * n < elements)
          out[static_cast<size_t>(first + threads * n)] = take(words, n);
    }
  }
  return out;
}

// Each thread takes so many elements in a row, with as many calls as it has fours of them.
std::vector<double> in_vectors(int64_t elements, int64_t most_threads, int64_t vector,
                               const Take& take) {
  std::vector<double> out(static_cast<size_t>(elements));
  const int64_t threads = threads_of(elements, most_threads);
  for (int64_t t = 0; t < threads; ++t) {
    Thread thread(t);
    for (int64_t first = vector * t; first < elements; first += threads * vector)
      for (int64_t part = 0; part < vector; part += 4) {
        const Words words = thread.draw();
        for (int64_t n = 0; n < std::min<int64_t>(vector, 4); ++n)
          out[static_cast<size_t>(first + part + n)] = take(words, n);
      }
  }
  return out;
}

// ---- The same by kernels of ours ----

struct Case {
  std::string graph;
  std::vector<double> want;
  double tolerance;
};

std::string graph_text(const std::string& op, const std::string& dtype, int64_t elements,
                       int64_t most_threads, const std::string& numbers) {
  // Of two rows where that can be: the loops are found one anyway.
  const std::string size =
      elements % 2 == 0 ? str_cat("[2, ", elements / 2, "]") : str_cat("[", elements, "]");
  const std::string of_dtype = op == "dropout" ? "" : ", dtype=" + dtype;
  return str_cat("graph 1 draw(state: i64[2]) {\n  %0: ", dtype, size,
                 "@cuda:0 = torchdyn::philox_", op, "(state=state, size=", size, ", ", numbers,
                 ", threads=", most_threads, of_dtype, ", device=@cuda:0)\n  return %0\n}\n");
}

std::string exactly(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17e", value);
  return text;
}

double rounded(const std::string& dtype, double value) {
  return ScalarValue::of(*aten_bridge::parse_dtype(dtype), value).floating;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int64_t most : {256, 512, 100 * 256})
    for (const int64_t n :
         {1, 3, 255, 256, 258, 1023, 1024, 1032, 2047, 2048, 4096, 4104, 8192, 9000}) {
      const auto strided_in = [&](const std::string& op, const std::string& dtype,
                                  const std::string& numbers, int64_t many, const Take& take,
                                  double tolerance = 0) {
        all.push_back(
            {graph_text(op, dtype, n, most, numbers), strided(n, most, many, take), tolerance});
      };
      for (const int64_t vector : {1, 2, 4, 8}) {
        if (n % vector != 0) continue;
        const double keep = static_cast<float>(0.7);
        const Take take = [=](const Words& w, int64_t i) {
          return unit(w[static_cast<size_t>(i)]) < keep ? 1 : 0;
        };
        all.push_back({graph_text("dropout", "bool", n, most,
                                  str_cat("keep=", exactly(keep), ", vector=", vector)),
                       vector == 1 ? strided(n, most, 4, take) : in_vectors(n, most, vector, take),
                       0});
      }
      strided_in("bernoulli", "f32", "p=0.25", 4, [](const Words& w, int64_t i) {
        return unit(w[static_cast<size_t>(i)]) < 0.25 ? 1 : 0;
      });
      strided_in("bernoulli", "f64", "p=0.25", 2, [](const Words& w, int64_t i) {
        return unit(w[static_cast<size_t>(2 * i)], w[static_cast<size_t>(2 * i + 1)]) < 0.25 ? 1
                                                                                             : 0;
      });
      for (const std::string dtype : {"f32", "bf16"})
        strided_in("uniform", dtype, "low=-1.0, high=2.0", 4, [=](const Words& w, int64_t i) {
          const double v = rounded(dtype, std::fma(unit(w[static_cast<size_t>(i)]), 3.0f, -1.0f));
          return v == 2 ? -1 : v;
        });
      strided_in("uniform", "f64", "low=0.0, high=1.0", 2, [](const Words& w, int64_t i) {
        return unit(w[static_cast<size_t>(2 * i)], w[static_cast<size_t>(2 * i + 1)]);
      });
      strided_in(
          "normal", "f32", "mean=1.0, std=2.0", 4,
          [](const Words& w, int64_t i) {
            const auto first = static_cast<size_t>(i / 2 * 2);
            const double angle = w[first + 1] * 0x1p-32 * 2 * M_PI;
            const double length = std::sqrt(-2 * std::log(unit(w[first])));
            return 1 + 2 * length * (i % 2 == 0 ? std::sin(angle) : std::cos(angle));
          },
          1e-5);
    }
  return all;
}

Array state() {
  Array state = zeros({DType::kInt64, {}, {2}, {1}});
  state.data[0].integer = static_cast<int64_t>(kSeed);
  state.data[1].integer = static_cast<int64_t>(kCalls);
  return state;
}

void expect_same(const Array& got, const Case& c) {
  ASSERT_EQ(got.data.size(), c.want.size());
  for (size_t i = 0; i < c.want.size(); ++i) {
    const ScalarValue& v = got.data[i];
    const double value =
        aten_bridge::is_floating(v.dtype) ? v.floating : static_cast<double>(v.integer);
    ASSERT_NEAR(value, c.want[i], c.tolerance) << "element " << i;
  }
}

TEST(Philox, GivesEveryElementTheNumberThatAtensThreadsGiveIt) {
  const std::vector<Case> all = cases();
  std::vector<LoopProgram> programs;
  for (const Case& c : all) {
    SCOPED_TRACE(c.graph);
    const auto graph = aten_bridge::parse_graph(c.graph);
    ASSERT_TRUE(graph.ok()) << graph.status();
    LoopProgram program = lower(*graph);
    ASSERT_TRUE(verify(program).ok()) << verify(program);
    for (const Stmt& stmt : program.body) ASSERT_FALSE(std::holds_alternative<ExternCall>(stmt));
    expect_same(evaluate(program, {state()})[0], c);
    run_passes(program);
    schedule(program, cuda_features());
    programs.push_back(std::move(program));
  }
  std::vector<const LoopProgram*> pointers;
  for (const LoopProgram& program : programs) pointers.push_back(&program);
  const CompiledKernels kernels = compile_cuda_kernels(pointers, emit_cuda);
  for (size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(all[i].graph);
    expect_same(kernels.run(i, {state()}, 1)[0], all[i]);
  }
}

// The last of 2^32 rounds to 1, which is below no chance.
TEST(Philox, ComparesWithAChanceAsFloatsDo) {
  for (const double keep : {0.0, 1.0, 0.5, 0x1p-33, 0x1p-32, 0x1.fffffep-1}) {
    const auto graph = aten_bridge::parse_graph(
        graph_text("dropout", "bool", 64, 256, str_cat("keep=", exactly(keep), ", vector=4")));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::string text = print(lower(*graph));
    const size_t at = text.rfind(":i64)");
    ASSERT_NE(at, std::string::npos) << text;
    const int64_t below = std::stoll(text.substr(text.rfind(' ', at)));
    EXPECT_TRUE(below == 0 || unit(static_cast<uint32_t>(below - 1)) < keep) << keep;
    EXPECT_TRUE(below == (int64_t{1} << 32) || !(unit(static_cast<uint32_t>(below)) < keep))
        << keep;
  }
}

}  // namespace
}  // namespace inductor::testing
