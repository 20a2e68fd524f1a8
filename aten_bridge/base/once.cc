#include "aten_bridge/base/once.h"

#include <cstdio>
#include <mutex>
#include <optional>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"

namespace aten_bridge {
namespace {

struct Capture {
  HashSet<std::string> keys;
  std::vector<std::string> messages;
};

struct Said {
  std::mutex mutex;
  HashSet<std::string> keys;
  std::optional<Capture> capture;
};

Said& said() {
  static auto& instance = *new Said;  // usable while the process exits
  return instance;
}

}  // namespace

void say_once(std::string_view key, std::string_view message) {
  std::lock_guard lock(said().mutex);
  std::optional<Capture>& capture = said().capture;
  if (!(capture ? capture->keys : said().keys).insert(std::string(key)).second) return;
  if (capture) {
    capture->messages.emplace_back(message);
  } else {
    std::fprintf(stderr, "torchdyn: %.*s\n", static_cast<int>(message.size()), message.data());
  }
}

SaidCapture::SaidCapture() {
  std::lock_guard lock(said().mutex);
  TD_CHECK(!said().capture, "one capture at a time");
  said().capture.emplace();
}

SaidCapture::~SaidCapture() {
  std::lock_guard lock(said().mutex);
  said().capture.reset();
}

std::vector<std::string> SaidCapture::messages() const {
  std::lock_guard lock(said().mutex);
  return said().capture->messages;
}

}  // namespace aten_bridge
