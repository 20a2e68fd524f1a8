#include "inductor/cache/seal.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"

namespace inductor {
namespace {

constexpr std::string_view kMark = "torchdyn seal 1 ";
constexpr size_t kSealBytes = kMark.size() + 32;  // a digest in hexadecimal; it covers the length

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string seal_of(std::string_view content) {
  return aten_bridge::str_cat(kMark, aten_bridge::digest({content}));
}

}  // namespace

absl::Status seal(const std::string& file) {
  const std::string trailer = seal_of(read_file(file));
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out << trailer;
  out.close();
  if (!out)
    return absl::UnavailableError(absl::StrCat("cannot write ", file, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

bool seal_holds(const std::string& file) {
  const std::string text = read_file(file);
  if (text.size() < kSealBytes) return false;
  const std::string_view content(text.data(), text.size() - kSealBytes);
  return std::string_view(text).substr(content.size()) == seal_of(content);
}

}  // namespace inductor
