// SPDX-License-Identifier: Apache-2.0
#include "proto/config/address.h"

#include <arpa/inet.h>

#include "absl/strings/numbers.h"
#include "base/exit_code.h"
#include "base/str_cat.h"

namespace vixen::config {

using base::StrCat;

bool Address::IsLoopback() const {
  if (host == "localhost") return true;
  in_addr v4;
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6;
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  const auto fault = [&](const std::string& why) {
    return base::UsageError(StrCat("\"", text, "\" is not HOST:PORT: ", why));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return fault("no port");
  Address address;
  address.host = text.substr(0, colon);
  if (!address.host.empty() && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
    in6_addr v6;
    if (::inet_pton(AF_INET6, address.host.c_str(), &v6) != 1)
      return fault("no IPv6 address in [ ]");
  } else if (address.host.find(':') != std::string::npos) {
    return fault("an IPv6 host stands in [ ]");
  }
  if (address.host.empty()) return fault("no host");
  if (address.host.find_first_of(" \t\r\n/") != std::string::npos)
    return fault("a space or / in the host");
  uint32_t port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) {
    return fault("the port is not a number from 0 to 65535");
  }
  address.port = static_cast<uint16_t>(port);
  return address;
}

}  // namespace vixen::config
