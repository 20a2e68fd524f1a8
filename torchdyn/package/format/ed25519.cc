#include "torchdyn/package/format/ed25519.h"

#include <memory>
#include <type_traits>

#include <dlfcn.h>

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

const char* const kSonames[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"};
constexpr int kEd25519 = 1087;  // NID_ED25519
constexpr size_t kSignatureBytes = 64;
// A passphrase that asks nobody: an encrypted key is refused.
int no_passphrase(char*, int, int, void*) { return -1; }
using AskPassphrase = int (*)(char*, int, int, void*);

// libcrypto's types are opaque: void*.
struct Crypto {
  void* (*BIO_new_mem_buf)(const void* bytes, int length);
  int (*BIO_free)(void* bio);
  void* (*PEM_read_bio_PrivateKey)(void* bio, void** key, AskPassphrase ask, void* argument);
  void* (*PEM_read_bio_PUBKEY)(void* bio, void** key, AskPassphrase ask, void* argument);
  void* (*EVP_PKEY_new_raw_public_key)(int type, void* engine, const unsigned char* bytes,
                                       size_t length);
  int (*EVP_PKEY_get_raw_public_key)(const void* key, unsigned char* bytes, size_t* length);
  void (*EVP_PKEY_free)(void* key);
  void* (*EVP_MD_CTX_new)();
  void (*EVP_MD_CTX_free)(void* context);
  int (*EVP_DigestSignInit)(void* context, void**, const void* digest, void* engine, void* key);
  int (*EVP_DigestSign)(void* context, unsigned char* signature, size_t* length,
                        const unsigned char* message, size_t message_length);
  int (*EVP_DigestVerifyInit)(void* context, void**, const void* digest, void* engine, void* key);
  int (*EVP_DigestVerify)(void* context, const unsigned char* signature, size_t length,
                          const unsigned char* message, size_t message_length);
};

absl::StatusOr<Crypto> find_crypto() {
  void* handle = nullptr;
  for (const char* soname : kSonames)
    if (!handle) handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return absl::UnavailableError("signatures need OpenSSL's libcrypto, which is not installed");
  Crypto crypto;
  std::string missing;
  const auto resolve = [&](auto& function, const char* name) {
    void* address = dlsym(handle, name);
    if (!address) missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
#define RESOLVE(name) resolve(crypto.name, #name)
  RESOLVE(BIO_new_mem_buf);
  RESOLVE(BIO_free);
  RESOLVE(PEM_read_bio_PrivateKey);
  RESOLVE(PEM_read_bio_PUBKEY);
  RESOLVE(EVP_PKEY_new_raw_public_key);
  RESOLVE(EVP_PKEY_get_raw_public_key);
  RESOLVE(EVP_PKEY_free);
  RESOLVE(EVP_MD_CTX_new);
  RESOLVE(EVP_MD_CTX_free);
  RESOLVE(EVP_DigestSignInit);
  RESOLVE(EVP_DigestSign);
  RESOLVE(EVP_DigestVerifyInit);
  RESOLVE(EVP_DigestVerify);
#undef RESOLVE
  if (!missing.empty()) return absl::UnavailableError(str_cat("this libcrypto lacks ", missing));
  return crypto;
}

absl::StatusOr<const Crypto*> crypto() {
  static const auto& found = *new absl::StatusOr<Crypto>(find_crypto());
  if (!found.ok()) return found.status();
  return &*found;
}

using Handle = std::unique_ptr<void, void (*)(void*)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// A key of this kind has a raw form of 32 bytes, from which it can be made again.
bool is_ed25519(const Crypto& c, void* key) {
  unsigned char raw[32];
  size_t length = sizeof(raw);
  if (c.EVP_PKEY_get_raw_public_key(key, raw, &length) != 1 || length != sizeof(raw)) return false;
  const Handle again(c.EVP_PKEY_new_raw_public_key(kEd25519, nullptr, raw, length),
                     c.EVP_PKEY_free);
  return again != nullptr;
}

absl::StatusOr<Handle> read_key(const Crypto& c, std::string_view pem, bool is_private) {
  void* bio = c.BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  const auto read = is_private ? c.PEM_read_bio_PrivateKey : c.PEM_read_bio_PUBKEY;
  Handle key(bio ? read(bio, nullptr, no_passphrase, nullptr) : nullptr, c.EVP_PKEY_free);
  if (bio) c.BIO_free(bio);
  if (key && is_ed25519(c, key.get())) return key;
  return absl::InvalidArgumentError(
      str_cat("this is no ", is_private ? "private" : "public", " Ed25519 key in PEM"));
}

}  // namespace

absl::StatusOr<std::string> ed25519_sign(std::string_view private_pem, std::string_view message) {
  auto c = crypto();
  if (!c.ok()) return c.status();
  auto key = read_key(**c, private_pem, /*is_private=*/true);
  if (!key.ok()) return key.status();
  const Handle context((*c)->EVP_MD_CTX_new(), (*c)->EVP_MD_CTX_free);
  std::string signature(kSignatureBytes, '\0');
  size_t length = signature.size();
  if (!context ||
      (*c)->EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key->get()) != 1 ||
      (*c)->EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                           &length, bytes_of(message), message.size()) != 1 ||
      length != signature.size())
    return absl::InternalError("libcrypto does not sign");
  return signature;
}

absl::Status ed25519_verify(std::string_view public_pem, std::string_view message,
                            std::string_view signature) {
  auto c = crypto();
  if (!c.ok()) return c.status();
  auto key = read_key(**c, public_pem, /*is_private=*/false);
  if (!key.ok()) return key.status();
  const Handle context((*c)->EVP_MD_CTX_new(), (*c)->EVP_MD_CTX_free);
  if (context && signature.size() == kSignatureBytes &&
      (*c)->EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key->get()) == 1 &&
      (*c)->EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                             bytes_of(message), message.size()) == 1)
    return absl::OkStatus();
  return absl::PermissionDeniedError("the signature is not this key's of this package");
}

}  // namespace torchdyn
