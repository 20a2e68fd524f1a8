// What capture asks about an operator, looked up once a capture.
//   OperatorTable table;
//   const OperatorInfo& info = table.of(op);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/decompose/decompose.h"
#include "aten_bridge/fake/infer.h"
#include "aten_bridge/trace/lazy_bits.h"
#include "aten_bridge/trace/rewrites.h"
#include "aten_bridge/trace/value_reads.h"

namespace c10 {
class OperatorHandle;
}

namespace aten_bridge {

struct OperatorInfo {
  std::string name;                         // "aten::add.Tensor"
  std::optional<std::string_view> refusal;  // why capture cannot have it
  const Rewrite* rewrite = nullptr;
  const LazyBit* lazy_bit = nullptr;
  const Decomposition* decomposition = nullptr;
  ShapeSource shape;
  ReadsValues reads = ReadsValues::kNo;
  bool is_composite = false;  // LibTorch can express it by other operators
  bool mutates = false;       // writes to an argument
  bool is_custom = false;     // not LibTorch's own
  bool has_out = false;       // its results are written to arguments, as `out=` asks
  bool is_view = false;       // outputs alias the first argument
  bool draws = false;         // random numbers, from a generator
};

class OperatorTable {
 public:
  const OperatorInfo& of(const c10::OperatorHandle& op);

 private:
  HashMap<const void*, std::unique_ptr<OperatorInfo>> infos_;  // by schema
};

}  // namespace aten_bridge
