// Operators whose result on the host, or whose results' sizes, depend on values. Capture reads the
// values, and every run checks that they are the same (Captured::assumptions).
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace at {
class Tensor;
}

namespace aten_bridge {

enum class ReadsValues : unsigned char { kNo, kNumber, kSizes };

ReadsValues reads_values(std::string_view op);

// What item() reads.
using HostNumber = std::variant<bool, int64_t, double, std::complex<double>>;

HostNumber read_number(const at::Tensor& tensor);
bool is_same(const HostNumber& a, const HostNumber& b);  // a NaN is the same as a NaN
std::string to_string(const HostNumber& number);

}  // namespace aten_bridge
