// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

#include "absl/strings/escaping.h"

namespace vixen::base {
namespace {

// OpenSSL's SHA-256 fails only without memory or without its default provider: nothing to go on
// with.
void Require(int openssl_result) {
  if (openssl_result != 1) std::abort();
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  Require(context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  Require(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()));
}

void Sha256::Update(std::string_view text) { Update(std::as_bytes(std::span(text))); }

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  Require(EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr));
  return digest;
}

Sha256Digest Sha256Of(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string ToHex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace vixen::base
