// The results of an operator on fakes: by its shape rule, else by its Meta kernel.
//   Inferred inferred = infer(op, find_shape_rule(name), args);
#pragma once

#include <span>
#include <vector>

#include "aten_bridge/fake/shape_rules.h"
#include "aten_bridge/graph/graph.h"

namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace aten_bridge {

struct Inferred {
  std::vector<c10::IValue> results;  // meta tensors in the place of tensors
  std::vector<Device> devices;       // of each defined tensor among them, lists flattened
};

Inferred infer(const c10::OperatorHandle& op, const ShapeRule* rule, std::span<c10::IValue> args);

// Where results live: on the device that the call names, else with the first argument that decides.
Device result_device(std::span<const c10::IValue> args);

}  // namespace aten_bridge
