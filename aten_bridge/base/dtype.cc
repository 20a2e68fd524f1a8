#include "aten_bridge/base/dtype.h"

#include "aten_bridge/base/check.h"

namespace aten_bridge {
namespace {

struct Row {
  DType dtype;
  std::string_view text;
  int64_t bytes;
  DTypeKind kind;
  DTypeUse use;
  int number;  // at::ScalarType's
};

constexpr Row kRows[] = {
#define DTYPE(name, text, bytes, kind, use, number) \
  {DType::name, #text, bytes, DTypeKind::kind, DTypeUse::use, number},
#include "aten_bridge/base/dtype.def"
#undef DTYPE
};

const Row& row(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  TD_CHECK(index < std::size(kRows), "element type ", index, " has no row");
  return kRows[index];
}

}  // namespace

int64_t size_in_bytes(DType dtype) { return row(dtype).bytes; }
DTypeKind kind(DType dtype) { return row(dtype).kind; }
bool is_computed(DType dtype) { return row(dtype).use == DTypeUse::kComputed; }
std::string_view to_string(DType dtype) { return row(dtype).text; }
int scalar_type_number(DType dtype) { return row(dtype).number; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Row& r : kRows)
    if (r.text == text) return r.dtype;
  return std::nullopt;
}

std::optional<DType> from_scalar_type_number(int number) {
  for (const Row& r : kRows)
    if (r.number == number) return r.dtype;
  return std::nullopt;
}

}  // namespace aten_bridge
