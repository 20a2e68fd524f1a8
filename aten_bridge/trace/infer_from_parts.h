// The shapes of an operator that stays one although it has a decomposition: those of its parts.
//   Inferred inferred = infer_from_parts(*find_decomposition("aten::glu"), args);
//
// The decomposition is recorded into a graph that nobody keeps; inside of a capture only.
#pragma once

#include <span>

#include "aten_bridge/decompose/decompose.h"
#include "aten_bridge/fake/infer.h"

namespace aten_bridge {

Inferred infer_from_parts(const Decomposition& decomposition, std::span<const c10::IValue> args);

}  // namespace aten_bridge
