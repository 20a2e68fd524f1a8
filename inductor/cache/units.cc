#include "inductor/cache/units.h"

#include <algorithm>
#include <numeric>

namespace inductor {
namespace {

constexpr int64_t kWorthAUnit = 4096;  // bytes of kernel text

}  // namespace

std::vector<std::vector<size_t>> split_units(std::span<const int64_t> text_bytes, int most) {
  if (text_bytes.empty()) return {};
  const int64_t total = std::accumulate(text_bytes.begin(), text_bytes.end(), int64_t{0});
  const size_t count = static_cast<size_t>(std::clamp<int64_t>(
      total / kWorthAUnit, 1, std::min<int64_t>(most, static_cast<int64_t>(text_bytes.size()))));

  std::vector<size_t> order(text_bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return text_bytes[a] > text_bytes[b]; });
  std::vector<std::vector<size_t>> units(count);
  std::vector<int64_t> load(count, 0);
  for (size_t i : order) {
    const size_t lightest =
        static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    units[lightest].push_back(i);
    load[lightest] += text_bytes[i];
  }
  for (auto& unit : units) std::sort(unit.begin(), unit.end());
  return units;
}

}  // namespace inductor
