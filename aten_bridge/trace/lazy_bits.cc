#include "aten_bridge/trace/lazy_bits.h"

namespace aten_bridge {
namespace {

constexpr LazyBit kRows[] = {
    {"aten::_conj", "aten::_conj_physical", true},
    {"aten::_neg_view", "aten::neg", true},
    {"aten::_efficientzerotensor", "aten::zeros"},
};

}  // namespace

const LazyBit* find_lazy_bit(std::string_view op) {
  for (const LazyBit& row : kRows)
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace aten_bridge
