// Element types, from dtype.def.
//   size_in_bytes(DType::kFloat32) == 4;  to_string(DType::kBFloat16) == "bf16"
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aten_bridge {

enum class DType : uint8_t {
#define DTYPE(name, ...) name,
#include "aten_bridge/base/dtype.def"
#undef DTYPE
};

enum class DTypeKind : uint8_t { kBoolean, kUnsigned, kSigned, kFloating, kComplex };
enum class DTypeUse : uint8_t { kComputed, kCarried };

int64_t size_in_bytes(DType dtype);
DTypeKind kind(DType dtype);
bool is_computed(DType dtype);  // generated kernels may load, store and compute it
std::string_view to_string(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);

// at::ScalarType's number, and back (nullopt: a type this library has no row for).
int scalar_type_number(DType dtype);
std::optional<DType> from_scalar_type_number(int number);

inline bool is_floating(DType dtype) { return kind(dtype) == DTypeKind::kFloating; }
inline bool is_complex(DType dtype) { return kind(dtype) == DTypeKind::kComplex; }
// Integers and bool.
inline bool is_integral(DType dtype) { return !is_floating(dtype) && !is_complex(dtype); }

}  // namespace aten_bridge
