// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::transport {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* value) const {
    Free(value);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::Status Wrong(const std::string& file, std::string_view what) {
  ERR_clear_error();  // OpenSSL's queue would speak to whoever looks next
  return absl::InvalidArgumentError(base::StrCat(file, ": ", what));
}

absl::StatusOr<Certificate> FirstCertificate(const std::string& file, const std::string& text) {
  Certificate certificate(PEM_read_bio_X509(Reader(text).get(), nullptr, nullptr, nullptr));
  if (!certificate) return Wrong(file, "there is no PEM certificate in it");
  return certificate;
}

absl::StatusOr<int64_t> NotAfter(const std::string& file, const X509& certificate) {
  if (X509_cmp_current_time(X509_get0_notBefore(&certificate)) > 0) {
    return Wrong(file, "the certificate is not valid yet");
  }
  const ASN1_TIME* end = X509_get0_notAfter(&certificate);
  if (X509_cmp_current_time(end) < 0) return Wrong(file, "the certificate has expired");
  std::tm time{};
  if (ASN1_TIME_to_tm(end, &time) != 1) return Wrong(file, "the certificate's end is no time");
  return static_cast<int64_t>(timegm(&time));
}

}  // namespace

absl::StatusOr<Pem> ReadPem(const v1::TlsSettings& tls) {
  Pem pem;
  if (!tls.tls_ca().empty()) {
    VIXEN_ASSIGN_OR_RETURN(pem.authorities, base::ReadFile(tls.tls_ca()));
    VIXEN_RETURN_IF_ERROR(FirstCertificate(tls.tls_ca(), pem.authorities).status());
  }
  if (tls.tls_certificate().empty()) return pem;
  VIXEN_ASSIGN_OR_RETURN(pem.certificate, base::ReadFile(tls.tls_certificate()));
  VIXEN_ASSIGN_OR_RETURN(pem.key, base::ReadFile(tls.tls_key()));
  VIXEN_ASSIGN_OR_RETURN(const Certificate certificate,
                         FirstCertificate(tls.tls_certificate(), pem.certificate));
  const Key key(PEM_read_bio_PrivateKey(Reader(pem.key).get(), nullptr, nullptr, nullptr));
  if (!key) return Wrong(tls.tls_key(), "there is no PEM private key in it");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong(tls.tls_key(), base::StrCat("the key is not that of ", tls.tls_certificate()));
  }
  VIXEN_ASSIGN_OR_RETURN(pem.not_after, NotAfter(tls.tls_certificate(), *certificate));
  return pem;
}

}  // namespace vixen::transport
