#include "inductor/schedule/schedule.h"

#include <algorithm>
#include <cctype>

#include "aten_bridge/base/str_cat.h"
#include "inductor/schedule/blocks.h"
#include "inductor/schedule/columns.h"
#include "inductor/schedule/contract.h"
#include "inductor/schedule/execution.h"
#include "inductor/schedule/group.h"
#include "inductor/schedule/nest.h"
#include "inductor/schedule/registers.h"
#include "inductor/schedule/rows.h"
#include "inductor/schedule/tile.h"
#include "inductor/schedule/variance.h"

namespace inductor {
namespace {

constexpr size_t kLongestName = 48;

// "aten::native_layer_norm" -> "native_layer_norm"; "aten::add.Tensor" -> "add"
std::string short_name(const std::string& origin) {
  const size_t colon = origin.rfind(':');
  std::string name = colon == std::string::npos ? origin : origin.substr(colon + 1);
  name = name.substr(0, name.find('.'));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name.substr(std::min(name.find_first_not_of('_'), name.size()));
}

std::string kernel_name(const std::vector<std::string>& origins) {
  std::string name;
  std::vector<std::string> used;
  for (const std::string& origin : origins) {
    const std::string part = short_name(origin);
    if (part.empty() || std::find(used.begin(), used.end(), part) != used.end()) continue;
    if (!name.empty() && name.size() + part.size() >= kLongestName) break;
    name += name.empty() ? part : "_" + part;
    used.push_back(part);
  }
  return name.empty() ? "kernel" : name;
}

}  // namespace

std::vector<FusionNote> schedule(LoopProgram& program, const Features& features) {
  if (features.has_lanes) read_variances_once(program, features);
  std::vector<FusionNote> notes = group(program, features);
  const auto each_kernel = [&](auto&& change) {
    for (Stmt& stmt : program.body)
      if (auto* kernel = std::get_if<Kernel>(&stmt)) change(*kernel);
  };
  each_kernel([&](Kernel& k) { forward_stores(program, k); });
  remove_unread(program);
  each_kernel([&](Kernel& k) {
    for (Stmt& stmt : k.body) collapse(program, stmt);
    if (features.has_lanes) spread_common_columns(program, k);
  });
  make_local(program, features);
  each_kernel([&](Kernel& k) {
    k.name = kernel_name(k.origins);
    if (features.has_lanes) {
      keep_values(program, k);
      keep_rows(program, k);
      spread_columns(program, k);
      take_rows_together(program, k);
      tile_by_sectors(program, k);
      choose_blocks(program, k);
    } else {
      tile(program, k);
      choose_execution(program, k, features);
    }
  });
  return notes;
}

}  // namespace inductor
