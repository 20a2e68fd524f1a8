// Who made a package: a section with an Ed25519 signature of all other sections.
//   write_signed(container, private_pem, "signed.td");
//   absl::Status signed_by = check_signature(container, public_pem);
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "torchdyn/package/format/container.h"

namespace torchdyn {

inline constexpr std::string_view kSignatureSection = "signature.ed25519";

// What is signed: a line, then name, length and digest of each section but the signature's, as the
// table has them, by name.
std::string signed_message(const Container& container);

// The same sections, and a signature in place of one that was there.
absl::Status write_signed(const Container& container, std::string_view private_pem,
                          const std::string& path);

// That the key's owner signed these sections, and that every one has the digest that was signed.
// NotFound: there is no signature. PermissionDenied: it is another key's, or of other sections.
absl::Status check_signature(const Container& container, std::string_view public_pem);

}  // namespace torchdyn
