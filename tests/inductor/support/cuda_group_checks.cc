// The checks of memory and of groups of threads.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "tests/inductor/support/cuda_checks.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_append;
using aten_bridge::str_cat;

constexpr const char* kOps[] = {"sum", "prod", "max", "min"};
constexpr const char* kTypes[] = {"float", "double", "int64_t", "int8_t"};
constexpr int kElements[] = {1, 8, 3, 2};  // that td_between takes, by type

template <class T>
T combine(int op, T a, T b) {
  switch (op) {
    case 0:
      return static_cast<T>(a + b);
    case 1:
      return static_cast<T>(a * b);
    case 2:
      return std::isnan(static_cast<double>(a)) || a > b ? a : b;
    default:
      return std::isnan(static_cast<double>(a)) || a < b ? a : b;
  }
}

// Small integers, whose sums in any order are exact; of a product all but a few are 1 and -1.
template <class T>
std::vector<T> inputs(int op, size_t count, bool with_nan) {
  std::vector<T> x(count);
  for (size_t i = 0; i < count; ++i) {
    const int n = static_cast<int>((i * 37 + 11) % 23) - 11;
    x[i] = static_cast<T>(op != 1 ? n : i % 61 == 7 ? 2 : n % 2 == 0 ? 1 : -1);
  }
  if (with_nan && std::is_floating_point_v<T>) x[count / 2] = static_cast<T>(NAN);
  return x;
}

template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

// f is called with a value of each C++ type of kTypes, and with its index.
template <class F>
void for_each_type(F f) {
  f(float{}, 0);
  f(double{}, 1);
  f(int64_t{}, 2);
  f(int8_t{}, 3);
}

}  // namespace

CudaCheck memory_check() {
  constexpr const char* kStored[] = {"uint8_t", "bool", "bf16", "int32_t", "float", "double"};
  constexpr size_t kSizes[] = {1, 1, 2, 4, 4, 8};
  struct Copy {
    EmittedKernel kernel;
    size_t element, width;
  };
  std::vector<Copy> copies;
  for (size_t t = 0; t < std::size(kStored); ++t) {
    for (size_t width = 1; width * kSizes[t] <= 64; width *= 2) {
      const std::string type = kStored[t];
      copies.push_back(
          {cuda_kernel(str_cat("reverse_", type, "_", width),
                       str_cat("const ", type, "* __restrict__ in0, ", type, "* __restrict__ out0"),
                       str_cat("  const td_vec<", type, ", ", width, "> x = td_load<", width,
                               ">(in0 + ", width, " * td_thread());\n  td_vec<", type, ", ", width,
                               "> y;\n  for (int l = 0; l < ", width, "; ++l) y[l] = x[", width - 1,
                               " - l];\n  td_store(out0 + ", width, " * td_thread(), y);\n"),
                       1, 32),
           kSizes[t], width});
    }
  }
  CudaCheck check{"memory", {}, nullptr};
  for (const Copy& c : copies) check.kernels.push_back(c.kernel);
  check.compare = [copies](const CudaRunner& runner) {
    for (const Copy& c : copies) {
      std::vector<Bytes> buffers(2, Bytes(32 * c.width * c.element));
      for (size_t i = 0; i < buffers[0].size(); ++i)
        buffers[0][i] = static_cast<unsigned char>(
            c.kernel.name.find("bool") == std::string::npos ? i * 7 + i / 256 : i * 5 % 3 % 2);
      runner.run(c.kernel, buffers);
      for (size_t i = 0; i < buffers[0].size(); ++i) {
        const size_t lane = i / c.element % c.width;
        ASSERT_EQ(buffers[1][i], buffers[0][i + c.element * (c.width - 1) - 2 * c.element * lane])
            << c.kernel.name << " byte " << i;
      }
    }
  };
  return check;
}

// Twice in a row, the second time with a NaN: scratch memory is used again.
CudaCheck across_check(int lanes) {
  const int threads = lanes == 32 ? 128 : lanes;
  CudaCheck check{str_cat("across_", lanes), {}, nullptr};
  for (const char* type : kTypes) {
    std::string parameters, body = "  const int t = td_thread();\n";
    for (size_t op = 0; op < std::size(kOps); ++op) {
      str_append(&parameters, op ? ", " : "", "const ", type, "* in", op, ", ", type, "* out", op);
      str_append(&body, "  for (int turn = 0; turn < 2; ++turn)\n    out", op, "[turn * ", threads,
                 " + t] = td_across_", kOps[op], "<", lanes, ">(in", op, "[turn * ", threads,
                 " + t]);\n");
    }
    check.kernels.push_back(
        cuda_kernel(str_cat(check.name, "_", type), parameters, body, 1, threads));
  }
  check.kernels.push_back(
      cuda_kernel(check.name + "_bool", "const bool* in0, bool* out0, bool* out1",
                  str_cat("  const int t = td_thread();\n  out0[t] = td_across_max<", lanes,
                          ">(in0[t]);\n  out1[t] = td_across_min<", lanes, ">(!in0[t]);\n"),
                  1, threads));
  // Sums that are not exact: the same bits in every thread, on every run.
  check.kernels.push_back(cuda_kernel(
      check.name + "_bits", "float* out0",
      str_cat("  out0[td_thread()] = td_across_sum<", lanes, ">(td_sqrt(float(td_thread())));\n"),
      1, threads));
  check.compare = [lanes, threads, kernels = check.kernels](const CudaRunner& runner) {
    const auto count = static_cast<size_t>(threads);
    for_each_type([&](auto zero, size_t type) {
      using T = decltype(zero);
      std::vector<Bytes> buffers;
      std::vector<std::vector<T>> in;
      for (int op = 0; op < 4; ++op) {
        in.push_back(inputs<T>(op, 2 * count, false));
        in.back()[count + count / 2] = inputs<T>(op, count, true)[count / 2];
        buffers.push_back(to_bytes<T>(in.back()));
        buffers.emplace_back(2 * count * sizeof(T));
      }
      runner.run(kernels[type], buffers);
      for (int op = 0; op < 4; ++op) {
        const auto got = from_bytes<T>(buffers[static_cast<size_t>(2 * op + 1)]);
        for (size_t t = 0; t < 2 * count; ++t) {
          const size_t first = t / static_cast<size_t>(lanes) * static_cast<size_t>(lanes);
          T want = in[op][first];
          for (size_t l = 1; l < static_cast<size_t>(lanes); ++l)
            want = combine(op, want, in[op][first + l]);
          ASSERT_TRUE(same(got[t], want)) << kernels[type].name << " " << kOps[op] << " thread "
                                          << t << ": " << +got[t] << ", not " << +want;
        }
      }
    });
    std::vector<Bytes> flags = {Bytes(count), Bytes(count), Bytes(count)};
    flags[0][count - 1] = 1;
    runner.run(kernels[std::size(kTypes)], flags);
    for (size_t t = 0; t < count; ++t) {
      const bool in_last =
          t / static_cast<size_t>(lanes) == (count - 1) / static_cast<size_t>(lanes);
      EXPECT_EQ(flags[1][t], in_last) << t;
      EXPECT_EQ(flags[2][t], !in_last) << t;
    }
    std::vector<Bytes> bits = {Bytes(count * 4)};
    runner.run(kernels[std::size(kTypes) + 1], bits);
    const auto first_run = from_bytes<uint32_t>(bits[0]);
    for (size_t t = 0; t < count; ++t)
      EXPECT_EQ(first_run[t],
                first_run[t / static_cast<size_t>(lanes) * static_cast<size_t>(lanes)])
          << t;
    const std::vector<Bytes> before = bits;
    runner.run(kernels[std::size(kTypes) + 1], bits);
    EXPECT_EQ(bits, before);
  };
  return check;
}

CudaCheck between_check(int lanes, int groups) {
  const int threads = lanes * groups;
  CudaCheck check{str_cat("between_", lanes, "_", groups), {}, nullptr};
  for (size_t type = 0; type < std::size(kTypes); ++type) {
    const int n = kElements[type];
    std::string parameters, body = "  const int t = td_thread();\n";
    for (size_t op = 0; op < std::size(kOps); ++op) {
      str_append(&parameters, op ? ", " : "", "const ", kTypes[type], "* in", op, ", ",
                 kTypes[type], "* out", op);
      str_append(&body, "  {\n    ", kTypes[type], " acc[", n, "];\n    for (int n = 0; n < ", n,
                 "; ++n) acc[n] = in", op, "[n * ", threads, " + t];\n    td_between_", kOps[op],
                 "<", lanes, ", ", groups, ">(acc);\n    if (t < ", lanes, ") for (int n = 0; n < ",
                 n, "; ++n) out", op, "[n * ", lanes, " + t] = acc[n];\n  }\n");
    }
    check.kernels.push_back(
        cuda_kernel(str_cat(check.name, "_", kTypes[type]), parameters, body, 1, threads));
  }
  check.compare = [lanes, groups, threads, kernels = check.kernels](const CudaRunner& runner) {
    for_each_type([&](auto zero, size_t type) {
      using T = decltype(zero);
      const auto n = static_cast<size_t>(kElements[type]), width = static_cast<size_t>(lanes);
      std::vector<Bytes> buffers;
      std::vector<std::vector<T>> in;
      for (int op = 0; op < 4; ++op) {
        in.push_back(inputs<T>(op, n * static_cast<size_t>(threads), true));
        buffers.push_back(to_bytes<T>(in.back()));
        buffers.emplace_back(n * width * sizeof(T));
      }
      runner.run(kernels[type], buffers);
      for (int op = 0; op < 4; ++op) {
        const auto got = from_bytes<T>(buffers[static_cast<size_t>(2 * op + 1)]);
        for (size_t e = 0; e < n * width; ++e) {
          const T* column = &in[op][e / width * static_cast<size_t>(threads) + e % width];
          T want = column[0];
          for (size_t g = 1; g < static_cast<size_t>(groups); ++g)
            want = combine(op, want, column[g * width]);
          ASSERT_TRUE(same(got[e], want)) << kernels[type].name << " " << kOps[op] << " element "
                                          << e << ": " << +got[e] << ", not " << +want;
        }
      }
    });
  };
  return check;
}

}  // namespace inductor::testing
