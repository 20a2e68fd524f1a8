// From captures of one program at several sizes to one for all sizes.
//   std::vector<Captured> at_points;           // CaptureInputs::types name each point's sizes
//   SizeFit fit(points);
//   absl::StatusOr<Captured> captured = generalize(at_points, fit);
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "aten_bridge/symbolic/fit.h"
#include "aten_bridge/trace/capture.h"

namespace aten_bridge {

// InvalidArgument, with the reason, where the captures differ in more than sizes; OutOfRange where
// the fit does not explain these.
absl::StatusOr<Captured> generalize(const std::vector<Captured>& at_points, SizeFit& fit);

ResultSource substitute(ResultSource source, const SymbolMap& sizes);

}  // namespace aten_bridge
