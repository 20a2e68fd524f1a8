// Where results come from, in the capture's terms and in the manifest's.
//   PackagedResult kept = to_manifest(source);
//   aten_bridge::ResultSource source = from_manifest(kept);
#pragma once

#include "aten_bridge/trace/capture.h"
#include "torchdyn/package/format/manifest.h"

namespace torchdyn {

PackagedResult to_manifest(const aten_bridge::ResultSource& source);
aten_bridge::ResultSource from_manifest(const PackagedResult& result);

}  // namespace torchdyn
