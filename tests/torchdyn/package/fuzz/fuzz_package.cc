// What reads a package, given any bytes: libFuzzer's entry. The first byte says which reader gets
// the rest. Digests are made to fit, so that what lies behind them is reached.
//   fuzz_package -max_total_time=60 CORPUS
#include <algorithm>
#include <string>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/digest.h"
#include "aten_bridge/graph/text.h"
#include "inductor/runtime/core/kernel_plan.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/layout.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/safetensors.h"

namespace torchdyn {
namespace {

void read_manifest(std::string_view text) {
  if (auto manifest = parse_manifest(text); manifest.ok())
    if (!parse_manifest(to_json(*manifest)).ok()) __builtin_trap();
}

void read_weights(std::string_view bytes) {
  if (auto tensors = parse_safetensors(bytes); tensors.ok())
    for (const StoredTensor& tensor : *tensors)
      if (tensor.bytes.data() < bytes.data() ||
          tensor.bytes.data() + tensor.bytes.size() > bytes.data() + bytes.size())
        __builtin_trap();
}

void read_container(std::string file) {
  if (file.size() >= layout::kHeaderBytes) {
    const uint64_t count = layout::read_number(file, layout::kSectionCountAt, 8);
    const uint64_t most = (file.size() - layout::kHeaderBytes) / layout::kEntryBytes;
    const std::string_view table[] = {std::string_view(file).substr(
        layout::kHeaderBytes, std::min(count, most) * layout::kEntryBytes)};
    const auto digest = aten_bridge::sha256(table);
    std::copy(digest.begin(), digest.end(), file.begin() + layout::kTableDigestAt);
    layout::write_number(&file[layout::kFileBytesAt], file.size(), 8);
  }
  auto container = Container::parse(file);
  if (!container.ok()) return;
  container->check_all().IgnoreError();
  for (const Section& section : container->sections()) {
    if (section.bytes.data() + section.bytes.size() > file.data() + file.size()) __builtin_trap();
    if (section.name == "manifest.json") read_manifest(section.bytes);
    if (section.name == "weights.safetensors") read_weights(section.bytes);
  }
}

void read_plan(std::string_view text) {
  if (auto plan = inductor::parse_plan(text); plan.ok()) inductor::verify(*plan).IgnoreError();
}

void read_graph(std::string_view text) {
  if (auto graph = aten_bridge::parse_graph(text); graph.ok())
    aten_bridge::verify(*graph).IgnoreError();
}

}  // namespace
}  // namespace torchdyn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 5) {
      case 0:
        torchdyn::read_container(std::string(rest));
        break;
      case 1:
        torchdyn::read_manifest(rest);
        break;
      case 2:
        torchdyn::read_weights(rest);
        break;
      case 3:
        torchdyn::read_plan(rest);
        break;
      default:
        torchdyn::read_graph(rest);
    }
  } catch (const aten_bridge::InternalError&) {  // numbers that overflow: the loader's to catch
  }
  return 0;
}
