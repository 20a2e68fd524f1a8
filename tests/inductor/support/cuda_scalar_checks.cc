// The checks of scalar operators and casts.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/dialect.h"
#include "tests/inductor/support/array_memory.h"
#include "tests/inductor/support/cuda_checks.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_append;
using aten_bridge::str_cat;

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                             DType::kInt64,   DType::kInt32,   DType::kInt16,   DType::kInt8,
                             DType::kUInt8,   DType::kBool};
constexpr int kThreads = 128;

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

template <class T>
std::vector<ScalarValue> interesting_floats(DType dtype) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::quiet_NaN(), Limits::infinity(), Limits::max(), Limits::min(),
                           Limits::denorm_min()};
  for (double v :
       {0.0,  0.1,     0.5,       0.75,       0.999999,     1.0,          1.5,   2.0,   2.5,   3.0,
        3.7,  7.0,     10.0,      40.0,       88.7,         127.5,        200.0, 255.5, 300.0, 1e-3,
        1e-8, 40000.0, 8388609.0, 16777215.0, 2147483520.0, 3000000001.0, 1e15,  1e30,  1e-30})
    values.push_back(static_cast<T>(v));
  std::vector<ScalarValue> out;
  for (T v : values)
    for (T sign : {T{1}, T{-1}}) out.push_back(ScalarValue::of(dtype, double{sign * v}));
  return out;
}

std::vector<ScalarValue> interesting(DType dtype) {
  if (dtype == DType::kFloat32) return interesting_floats<float>(dtype);
  if (dtype == DType::kFloat64) return interesting_floats<double>(dtype);
  std::vector<ScalarValue> out;
  if (dtype == DType::kBool) {
    for (int64_t v : {0, 1}) out.push_back(ScalarValue::of_integer(dtype, v));
    return out;
  }
  const int64_t top = int64_t{1} << (8 * aten_bridge::size_in_bytes(dtype) - 2);
  for (int64_t v : {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127})
    for (int64_t sign : {1, -1}) out.push_back(ScalarValue::of_integer(dtype, sign * v));
  for (int64_t v : {top, top - 1, -top, top + (top - 1), -top - top, -top - (top - 1)})
    out.push_back(ScalarValue::of_integer(dtype, v));
  return out;
}

TensorType row_of(DType dtype, size_t count) {
  return {dtype, {}, {static_cast<int64_t>(count)}, {1}};
}
Bytes bytes_of_values(DType dtype, const std::vector<ScalarValue>& values) {
  return bytes_of(Array{row_of(dtype, values.size()), values});
}
std::vector<ScalarValue> values_of_bytes(const Bytes& bytes, DType dtype) {
  const auto count = static_cast<int64_t>(bytes.size()) / aten_bridge::size_in_bytes(dtype);
  return gather(bytes.data(), TensorRef{0, {count}, {1}, 0}, dtype).data;
}

std::string text_of(const ScalarValue& v) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", v.floating);
  return aten_bridge::is_floating(v.dtype) ? text : str_cat(v.integer);
}

bool is_exact(ScalarOp op) { return op < ScalarOp::rsqrt || op == ScalarOp::copysign; }

// Functions that are one text on all devices, over elementary functions that differ by ulps.
bool is_special(ScalarOp op) { return op >= ScalarOp::digamma; }
// Defined between -7 and 7.
bool is_near(ScalarOp op) { return op == ScalarOp::sin_near || op == ScalarOp::cos_near; }
// A polynomial of degree 1e15 is a loop of that many steps.
constexpr double kHighestDegree = 40;

bool agrees_nearly(double a, double b, bool single) {
  const double overflow = single ? 1e37 : 1e307, scale = std::max(1.0, std::fabs(a));
  if (std::fabs(a) > overflow || std::fabs(b) > overflow) return a * b > 0;
  return std::fabs(a - b) <= (single ? 1e-4 : 1e-11) * scale;
}

bool agrees(const ScalarValue& want, const ScalarValue& got, ScalarOp op) {
  if (!aten_bridge::is_floating(want.dtype)) return want.integer == got.integer;
  const double a = want.floating, b = got.floating;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (op == ScalarOp::maximum || op == ScalarOp::minimum) return a == b;
  if (is_exact(op)) return a == b && std::signbit(a) == std::signbit(b);
  const bool single = want.dtype == DType::kFloat32;
  if (is_special(op) || is_near(op)) return agrees_nearly(a, b, single);
  if (std::isinf(a)) return a == b;
  const double ulp = single ? std::fabs(std::nextafterf(static_cast<float>(a), 0) - a)
                            : std::fabs(std::nextafter(a, 0) - a);
  const double slack = op != ScalarOp::lgamma ? 0 : single ? 1e-6 : 1e-14;
  if (std::isinf(b)) {  // comes next to the greatest: CUDA's hypot(DBL_MAX, 0) is infinite
    const double greatest =
        single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    return a * b > 0 && greatest - std::fabs(a) < 8 * ulp;
  }
  return std::fabs(a - b) <= 8 * ulp + slack;
}

}  // namespace

CudaCheck operators_check(DType dtype) {
  // c ? a : b and so on over all pairs: a, b and c are arguments 1, 2 and 0.
  std::vector<ScalarValue> a, b, c;
  for (const ScalarValue& x : interesting(dtype)) {
    for (const ScalarValue& y : interesting(dtype)) {
      a.push_back(x);
      b.push_back(y);
      c.push_back(ScalarValue::of_integer(DType::kBool, static_cast<int64_t>(a.size() % 3 == 0)));
    }
  }
  const int count = static_cast<int>(a.size());
  std::vector<const ScalarOpRow*> same, truth;
  for (const ScalarOpRow& r : scalar_ops())
    if (is_defined_on(r, dtype)) (r.result == ScalarResult::kBool ? truth : same).push_back(&r);

  const std::string type = cuda_dialect().type(dtype, 1), name{aten_bridge::to_string(dtype)};
  std::string body =
      str_cat("  const int i = ", kThreads, " * td_block() + td_thread();\n  if (i >= ", count,
              ") return;\n  const ", type, " a = in0[i], b = in1[i];\n  const bool c = in2[i];\n");
  for (const auto* rows : {&same, &truth}) {
    for (size_t r = 0; r < rows->size(); ++r) {
      const ScalarOpRow& row = *(*rows)[r];
      std::vector<std::string> args = {"a", "b", "a"};
      if (is_special(row.op)) args[1] = str_cat("td_min(b, ", type, "(", kHighestDegree, "))");
      if (row.op == ScalarOp::select) args.insert(args.begin(), "c");
      args.resize(static_cast<size_t>(row.arity));
      str_append(&body, "  out", rows == &same ? 0 : 1, "[", r * a.size(),
                 " + i] = ", cuda_dialect().apply(row.op, dtype, 1, args), ";  // ", row.name,
                 "\n");
    }
  }
  const EmittedKernel kernel =
      cuda_kernel("operators_" + name,
                  str_cat("const ", type, "* __restrict__ in0, const ", type,
                          "* __restrict__ in1, const bool* __restrict__ in2, ", type,
                          "* __restrict__ out0, bool* __restrict__ out1"),
                  body, (count + kThreads - 1) / kThreads, kThreads);

  const auto compare = [=](const CudaRunner& runner) {
    const size_t element = static_cast<size_t>(aten_bridge::size_in_bytes(dtype));
    std::vector<Bytes> buffers = {
        bytes_of_values(dtype, a), bytes_of_values(dtype, b), bytes_of_values(DType::kBool, c),
        Bytes(same.size() * a.size() * element), Bytes(truth.size() * a.size())};
    runner.run(kernel, buffers);
    for (const auto* rows : {&same, &truth}) {
      const DType result = rows == &same ? dtype : DType::kBool;
      const auto got = values_of_bytes(buffers[rows == &same ? 3 : 4], result);
      for (size_t r = 0; r < rows->size(); ++r) {
        const ScalarOpRow& row = *(*rows)[r];
        int wrong = 0;
        for (size_t i = 0; i < a.size() && wrong < 4; ++i) {
          if (row.arity == 1 && i > 0 && same_bits(a[i], a[i - 1])) continue;
          if (is_near(row.op) && !(std::fabs(a[i].floating) <= 7)) continue;
          std::vector<ScalarValue> args = {a[i], b[i], a[i]};
          if (is_special(row.op) && args[1].floating > kHighestDegree)
            args[1] = ScalarValue::of(dtype, kHighestDegree);
          if (row.op == ScalarOp::select) args.insert(args.begin(), c[i]);
          args.resize(static_cast<size_t>(row.arity));
          const ScalarValue want = evaluate(row.op, args), &is = got[r * a.size() + i];
          if (agrees(want, is, row.op)) continue;
          ++wrong;
          ADD_FAILURE() << name << " " << row.name << " of " << text_of(a[i]) << ", "
                        << text_of(b[i]) << " is " << text_of(is) << ", not " << text_of(want);
        }
      }
    }
  };
  return {kernel.name, {kernel}, compare};
}

namespace {

// What a cast that goes through an integer of more bits gives; nullopt where C++ leaves it open.
std::optional<ScalarValue> cast_value(const ScalarValue& x, DType to) {
  const bool through_int32 = to == DType::kInt8 || to == DType::kInt16;
  if (!aten_bridge::is_floating(x.dtype) || !(through_int32 || to == DType::kUInt8))
    return convert(x, to);
  const auto wide = convert(x, through_int32 ? DType::kInt32 : DType::kInt64);
  return wide ? convert(*wide, to) : std::nullopt;
}

Bytes every_half_bits() {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  return to_bytes<uint16_t>(bits);
}

// Every value of a half type, as float32.
std::vector<ScalarValue> every_half(DType half) {
  std::vector<ScalarValue> values = values_of_bytes(every_half_bits(), half);
  for (ScalarValue& v : values) v = ScalarValue::of(DType::kFloat32, v.floating);
  return values;
}

}  // namespace

CudaCheck casts_check(DType from) {
  const std::vector<ScalarValue> x = is_half(from) ? every_half(from) : interesting(from);
  const Bytes bits = is_half(from) ? every_half_bits() : bytes_of_values(from, x);
  const int count = static_cast<int>(x.size());
  const std::string type = cuda_dialect().type(from, 1);
  std::string parameters = str_cat("const ", type, "* __restrict__ in0"), body;
  str_append(&body, "  const int i = ", kThreads,
             " * td_block() + td_thread();\n  if (i >= ", count, ") return;\n  const ", type,
             " x = in0[i];\n");
  int out = 0;
  for (DType to : kDTypes) {
    const std::string cast = cuda_dialect().cast(to, 1, "x");
    const std::string through = cuda_dialect().cast(to, 1, "td_cast<float>(x)");
    for (const std::string& value : {cast, through}) {
      str_append(&parameters, ", ", cuda_dialect().type(to, 1), "* __restrict__ out", out);
      str_append(&body, "  out", out++, "[i] = ", value, ";\n");
    }
  }
  const EmittedKernel kernel =
      cuda_kernel(str_cat("casts_", aten_bridge::to_string(from)), parameters, body,
                  (count + kThreads - 1) / kThreads, kThreads);
  const auto compare = [=](const CudaRunner& runner) {
    std::vector<Bytes> buffers = {bits};
    for (DType to : kDTypes)
      for (int repeat = 0; repeat < 2; ++repeat)
        buffers.emplace_back(x.size() * static_cast<size_t>(aten_bridge::size_in_bytes(to)));
    runner.run(kernel, buffers);
    for (size_t t = 0; t < std::size(kDTypes); ++t) {
      const DType to = kDTypes[t];
      EXPECT_TRUE(to != from || buffers[1 + 2 * t] == bits) << kernel.name << " to itself";
      const std::vector<ScalarValue> got = values_of_bytes(buffers[1 + 2 * t], to),
                                     through = values_of_bytes(buffers[2 + 2 * t], to);
      int wrong = 0;
      for (size_t i = 0; i < x.size() && wrong < 4; ++i) {
        // Half types are rounded once, from float.
        const auto want = is_half(to) ? through[i] : cast_value(x[i], to);
        if (!want || agrees(*want, got[i], ScalarOp::add)) continue;
        ++wrong;
        ADD_FAILURE() << kernel.name << " to " << aten_bridge::to_string(to) << ": "
                      << text_of(x[i]) << " is " << text_of(got[i]) << ", not " << text_of(*want);
      }
    }
  };
  return {kernel.name, {kernel}, compare};
}

CudaCheck rounding_check(DType half) {
  std::vector<float> x;
  std::vector<uint16_t> want;
  const std::vector<ScalarValue> every = every_half(half);
  const auto add = [&](float value, size_t bits) {
    x.push_back(value);
    want.push_back(static_cast<uint16_t>(bits));
  };
  for (size_t bits = 0; bits < every.size(); ++bits) {
    const auto value = static_cast<float>(every[bits].floating);
    add(value, bits);
    if (bits % 0x8000 == 0 || std::isnan(value) || std::isinf(value)) continue;
    const auto below = static_cast<float>(every[bits - 1].floating);
    const auto middle = static_cast<float>((double{below} + double{value}) / 2);
    add(middle, bits % 2 == 0 ? bits : bits - 1);
    add(std::nextafter(middle, value), bits);
    add(std::nextafter(middle, below), bits - 1);
  }
  const int count = static_cast<int>(x.size());
  const std::string type = cuda_dialect().type(half, 1);
  const EmittedKernel kernel = cuda_kernel(
      str_cat("rounding_", aten_bridge::to_string(half)),
      str_cat("const float* __restrict__ in0, ", type,
              "* __restrict__ out0, float* __restrict__ out1"),
      str_cat("  const int i = ", kThreads, " * td_block() + td_thread();\n  if (i >= ", count,
              ") return;\n  out0[i] = td_cast<", type, ">(in0[i]);\n  out1[i] = td_round_to<", type,
              ">(in0[i]);\n"),
      (count + kThreads - 1) / kThreads, kThreads);
  const auto compare = [=](const CudaRunner& runner) {
    std::vector<Bytes> buffers = {to_bytes<float>(x), Bytes(x.size() * 2), Bytes(x.size() * 4)};
    runner.run(kernel, buffers);
    const auto got = from_bytes<uint16_t>(buffers[1]);
    const auto rounded = from_bytes<float>(buffers[2]);
    const int exponent = half == DType::kFloat16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        ASSERT_GT(got[i] & 0x7fff, exponent) << i;
        ASSERT_TRUE(std::isnan(rounded[i])) << i;
      } else {
        ASSERT_EQ(got[i], want[i]) << x[i];
        const auto wide = static_cast<float>(every[want[i]].floating);
        ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]), std::bit_cast<uint32_t>(wide)) << x[i];
      }
    }
  };
  return {kernel.name, {kernel}, compare};
}

}  // namespace inductor::testing
