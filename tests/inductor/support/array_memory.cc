#include "tests/inductor/support/array_memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "aten_bridge/base/check.h"

namespace inductor::testing {
namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kUnwritten = 0xff;

template <class T>
void put(unsigned char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Values of the half types are exact in double; infinities and NaN included.
uint16_t half_bits(double x, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const int top = (1 << exponent_bits) - 1;
  if (std::isnan(x))
    return static_cast<uint16_t>((top << fraction_bits) | 1 << (fraction_bits - 1));
  if (std::isinf(x)) return static_cast<uint16_t>(sign | top << fraction_bits);
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  const double scaled = std::ldexp(std::fabs(x), fraction_bits - exponent);
  const int bits = static_cast<int>(scaled) + ((exponent + bias - 1) << fraction_bits);
  return static_cast<uint16_t>(sign | bits);
}
double half_value(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int fraction = bits & ((1 << fraction_bits) - 1),
            exponent = (bits & 0x7fff) >> fraction_bits;
  double x;
  if (exponent == (1 << exponent_bits) - 1)
    x = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    x = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    x = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits & 0x8000 ? -x : x;
}

}  // namespace

std::vector<unsigned char> bytes_of(const Array& array) {
  const int64_t size = aten_bridge::size_in_bytes(array.type.dtype);
  std::vector<unsigned char> bytes(array.data.size() * static_cast<size_t>(size));
  unsigned char* to = bytes.data();
  for (const ScalarValue& v : array.data) {
    switch (array.type.dtype) {
      case DType::kFloat32:
        put(to, static_cast<float>(v.floating));
        break;
      case DType::kFloat64:
        put(to, v.floating);
        break;
      case DType::kFloat16:
        put(to, half_bits(v.floating, 5));
        break;
      case DType::kBFloat16:
        put(to, half_bits(v.floating, 8));
        break;
      default:  // little endian
        std::memcpy(to, &v.integer, static_cast<size_t>(size));
    }
    to += size;
  }
  return bytes;
}

namespace {

ScalarValue value_at(const unsigned char* from, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ScalarValue::of(dtype, get<float>(from));
    case DType::kFloat64:
      return ScalarValue::of(dtype, get<double>(from));
    case DType::kFloat16:
      return ScalarValue::of(dtype, half_value(get<uint16_t>(from), 5));
    case DType::kBFloat16:
      return ScalarValue::of(dtype, half_value(get<uint16_t>(from), 8));
    case DType::kUInt8:
    case DType::kBool:
      return ScalarValue::of_integer(dtype, *from);
    case DType::kInt8:
      return ScalarValue::of_integer(dtype, get<int8_t>(from));
    case DType::kInt16:
      return ScalarValue::of_integer(dtype, get<int16_t>(from));
    case DType::kInt32:
      return ScalarValue::of_integer(dtype, get<int32_t>(from));
    default:
      return ScalarValue::of_integer(dtype, get<int64_t>(from));
  }
}

}  // namespace

GuardedMemory::GuardedMemory(size_t size)
    : size_(size), bytes_(size + 2 * kGuard + 64, kUnwritten), data_(bytes_.data() + kGuard) {
  data_ += -reinterpret_cast<uintptr_t>(data_) % 64;
}

GuardedMemory::GuardedMemory(const std::vector<unsigned char>& bytes)
    : GuardedMemory(bytes.size()) {
  std::copy(bytes.begin(), bytes.end(), data_);
}

void GuardedMemory::check() const {
  const auto untouched = [](const unsigned char* from, const unsigned char* to) {
    return std::all_of(from, to, [](unsigned char byte) { return byte == kUnwritten; });
  };
  TD_CHECK(untouched(bytes_.data(), data_), "written before the first element");
  TD_CHECK(untouched(data_ + size_, bytes_.data() + bytes_.size()), "written after the last one");
}

size_t storage_bytes(const TensorType& type) {
  return zeros(type).data.size() * static_cast<size_t>(aten_bridge::size_in_bytes(type.dtype));
}

Array gather(const unsigned char* memory, const TensorRef& output, DType dtype) {
  Array result = zeros({dtype, {}, output.sizes, aten_bridge::contiguous_strides(output.sizes)});
  for (size_t n = 0; n < result.data.size(); ++n) {
    int64_t rest = static_cast<int64_t>(n), where = output.offset.as_constant();
    for (size_t d = output.sizes.size(); d-- > 0;) {
      where += rest % output.sizes[d].as_constant() * output.strides[d].as_constant();
      rest /= output.sizes[d].as_constant();
    }
    result.data[n] = value_at(memory + where * aten_bridge::size_in_bytes(dtype), dtype);
  }
  return result;
}

}  // namespace inductor::testing
