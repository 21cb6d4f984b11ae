// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::transport {

// The contents of the files that a TlsSettings names; empty where it names none.
struct Pem {
  std::string certificate;  // chain, the own one first
  std::string key;
  std::string authorities;
  int64_t not_after = 0;  // of the own certificate: seconds since the epoch; 0 without one

  friend bool operator==(const Pem&, const Pem&) = default;
};

// Reads the files and judges them together: the key belongs to the certificate, the certificate is
// valid now, there is an authority. INVALID_ARGUMENT (or the error of reading) naming file and
// reason.
absl::StatusOr<Pem> ReadPem(const v1::TlsSettings& tls);

}  // namespace vixen::transport
