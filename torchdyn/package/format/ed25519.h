// Ed25519 by OpenSSL's libcrypto, which is looked for when it is first needed: nothing links it.
//   auto signature = ed25519_sign(private_pem, message);       // 64 bytes
//   absl::Status valid = ed25519_verify(public_pem, message, *signature);
// Keys are PEM, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace torchdyn {

// InvalidArgument: no such key. Unavailable: there is no libcrypto.
absl::StatusOr<std::string> ed25519_sign(std::string_view private_pem, std::string_view message);
// PermissionDenied: another key's, or of another message.
absl::Status ed25519_verify(std::string_view public_pem, std::string_view message,
                            std::string_view signature);

}  // namespace torchdyn
