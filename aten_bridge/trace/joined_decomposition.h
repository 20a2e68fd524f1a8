// Runs a decomposition that joined while the program runs (Decomposition::joined), and holds it to
// what an operator's results are.
//   run_joined(info.name, *info.decomposition, expected, stack);
//
// CaptureError where a result is no tensor of this capture, or has not the dtype, device, sizes and
// strides that the operator's shape rule gives (`expected`; none: it has no rule). A result that is
// an argument, or a view of one, becomes a copy: an operator's results are its own.
#pragma once

#include <optional>
#include <string>

#include "aten_bridge/decompose/decompose.h"
#include "aten_bridge/fake/infer.h"

namespace c10 {
struct FunctionSchema;
}

namespace aten_bridge {

class ViewTable;

void run_joined(const c10::FunctionSchema& schema, const std::string& op, const Decomposition& row,
                const std::optional<Inferred>& expected, const ViewTable& views, Stack& stack);

}  // namespace aten_bridge
