// The preamble of generated kernels, compiled into the test: for this machine's AVX2 and without.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

namespace plain {
#include "inductor/emit/preamble/td_cpu.h"
#include "inductor/emit/preamble/td_cpu_convert.h"
#include "inductor/emit/preamble/td_cpu_math.h"
#include "tests/inductor/emit/td_cpu_checks.h"
}  // namespace plain

// clang has no such pragma; there compiled kernels alone test it.
#if !defined(__clang__) && defined(__x86_64__) && !defined(__AVX2__)
#define TD_TEST_AVX2 1
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
// g++ reads the whole file before it obeys the pragma, which alone would define these.
#define __AVX2__ 1
#define __FMA__ 1
#define __F16C__ 1
namespace avx2 {
#include "inductor/emit/preamble/td_cpu.h"
#include "inductor/emit/preamble/td_cpu_convert.h"
#include "inductor/emit/preamble/td_cpu_math.h"
#include "tests/inductor/emit/td_cpu_checks.h"
#define TD_CHECK_WITH_AVX2(check) \
  void check##_here() { check(); }
TD_CHECK_WITH_AVX2(check_errors)
TD_CHECK_WITH_AVX2(check_scalars_equal_lanes)
TD_CHECK_WITH_AVX2(check_nan_wins)
TD_CHECK_WITH_AVX2(check_halves)
TD_CHECK_WITH_AVX2(check_masks)
TD_CHECK_WITH_AVX2(check_int64)
TD_CHECK_WITH_AVX2(check_across)
TD_CHECK_WITH_AVX2(check_strided)
}  // namespace avx2
#undef __AVX2__
#undef __FMA__
#undef __F16C__
#pragma GCC pop_options
#endif

namespace {

struct Check {
  const char* name;
  void (*plain)();
  void (*avx2)();
};
#ifdef TD_TEST_AVX2
#define BOTH(check) \
  { #check, plain::check, avx2::check##_here }
#else
#define BOTH(check) \
  { #check, plain::check, nullptr }
#endif
const Check kChecks[] = {
    BOTH(check_errors),
    BOTH(check_scalars_equal_lanes),
    BOTH(check_nan_wins),
    BOTH(check_halves),
    BOTH(check_masks),
    BOTH(check_int64),
    BOTH(check_across),
    BOTH(check_strided),
    {"check_index_functions", plain::check_index_functions, nullptr},
};

class TdCpu : public ::testing::TestWithParam<Check> {};

TEST_P(TdCpu, HoldsWithoutAvx2) { GetParam().plain(); }

TEST_P(TdCpu, HoldsWithAvx2) {
  if (!GetParam().avx2) GTEST_SKIP() << "no vectors in it, or another compiler than GCC";
#ifdef TD_TEST_AVX2
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this processor has no AVX2 with FMA";
#endif
  GetParam().avx2();
}

INSTANTIATE_TEST_SUITE_P(Each, TdCpu, ::testing::ValuesIn(kChecks),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
