#include "aten_bridge/base/dtype.h"

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

constexpr DType kAll[] = {
#define DTYPE(name, ...) DType::name,
#include "aten_bridge/base/dtype.def"
#undef DTYPE
};

TEST(DType, EveryRowReadsBackFromItsTextAndItsNumber) {
  for (DType d : kAll) {
    EXPECT_EQ(parse_dtype(to_string(d)), d);
    EXPECT_EQ(from_scalar_type_number(scalar_type_number(d)), d);
  }
  EXPECT_EQ(parse_dtype("f31"), std::nullopt);
  EXPECT_EQ(from_scalar_type_number(12), std::nullopt);
}

TEST(DType, KernelsComputeWithAllButComplexNumbersAndWideUnsignedOnes) {
  for (DType d : kAll) {
    const bool wide_unsigned = kind(d) == DTypeKind::kUnsigned && d != DType::kUInt8;
    EXPECT_EQ(is_computed(d), !is_complex(d) && !wide_unsigned) << to_string(d);
  }
  EXPECT_TRUE(is_integral(DType::kUInt64));
}

TEST(DType, EveryTypeIsOfOneKind) {
  for (DType d : kAll) EXPECT_EQ(is_floating(d) + is_complex(d) + is_integral(d), 1);
  EXPECT_TRUE(is_integral(DType::kBool));
  EXPECT_TRUE(is_floating(DType::kBFloat16));
  EXPECT_EQ(size_in_bytes(DType::kComplex128), 16);
}

}  // namespace
}  // namespace aten_bridge
