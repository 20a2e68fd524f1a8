#include "inductor/cache/seal.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "aten_bridge/base/digest.h"
#include "aten_bridge/base/str_cat.h"

namespace inductor {
namespace {

constexpr std::string_view kMark = "torchdyn seal 1 ";
constexpr size_t kSealBytes = kMark.size() + 32;  // a digest in hexadecimal; it covers the length

// None where it cannot be read.
std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

absl::Status failed(std::string_view what, const std::string& file) {
  return absl::UnavailableError(
      aten_bridge::str_cat("cannot ", what, " ", file, ": ", std::strerror(errno)));
}

std::string seal_of(std::string_view content) {
  return aten_bridge::str_cat(kMark, aten_bridge::digest({content}));
}

}  // namespace

absl::Status seal(const std::string& file) {
  const std::optional<std::string> content = read_file(file);
  if (!content) return failed("read", file);
  const std::string trailer = seal_of(*content);
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out << trailer;
  out.close();
  return out ? absl::OkStatus() : failed("write", file);
}

std::optional<bool> seal_holds(const std::string& file) {
  const std::optional<std::string> text = read_file(file);
  if (!text) return std::nullopt;
  if (text->size() < kSealBytes) return false;
  const std::string_view content(text->data(), text->size() - kSealBytes);
  return std::string_view(*text).substr(content.size()) == seal_of(content);
}

}  // namespace inductor
