// The results of an operator on fakes: by its shape rule, else by its Meta kernel.
//   const ShapeSource source = find_shape_source(op);
//   if (source.exists()) Inferred inferred = infer(op, source, args);
#pragma once

#include <span>
#include <vector>

#include "aten_bridge/fake/shape_rules.h"
#include "aten_bridge/graph/graph.h"

namespace c10 {
class OperatorHandle;
enum class DispatchKey : uint16_t;
struct IValue;
}  // namespace c10

namespace aten_bridge {

struct Inferred {
  std::vector<c10::IValue> results;  // meta tensors in the place of tensors
  std::vector<Device> devices;       // of each defined tensor among them, lists flattened
};

// Where an operator's shapes come from; looked up once.
struct ShapeSource {
  const ShapeRule* rule = nullptr;
  c10::DispatchKey meta_kernel{};  // the key of a tested one; Undefined: none
  bool exists() const { return rule != nullptr || meta_kernel != c10::DispatchKey{}; }
};

ShapeSource find_shape_source(const c10::OperatorHandle& op);
Inferred infer(const c10::OperatorHandle& op, const ShapeSource& source,
               std::span<const c10::IValue> args);

// Where results live: on the device that the call names, else with the first argument that decides.
Device result_device(std::span<const c10::IValue> args);

}  // namespace aten_bridge
