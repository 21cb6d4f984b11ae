// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::config {

// HOST:PORT, taken apart. IPv6 hosts stand in brackets in the text: "[::1]:50051".
struct Address {
  std::string host;
  uint16_t port = 0;

  // 127.0.0.0/8, ::1 or localhost: what needs neither TLS nor `insecure`.
  bool IsLoopback() const;
};

// INVALID_ARGUMENT naming the text and what is wrong with it.
absl::StatusOr<Address> ParseAddress(const std::string& text);

}  // namespace vixen::config
