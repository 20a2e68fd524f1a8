// A decision that carries its reason.
//   if (a.device != b.device) return Verdict::no("different devices");
//   return Verdict::yes();
#pragma once

#include <string>
#include <utility>

namespace aten_bridge {

class [[nodiscard]] Verdict {
 public:
  static Verdict yes() { return Verdict(true, ""); }
  static Verdict no(std::string reason) { return Verdict(false, std::move(reason)); }

  explicit operator bool() const { return yes_; }
  const std::string& reason() const { return reason_; }  // empty when yes

 private:
  Verdict(bool yes, std::string reason) : yes_(yes), reason_(std::move(reason)) {}
  bool yes_;
  std::string reason_;
};

}  // namespace aten_bridge
