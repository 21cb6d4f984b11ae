// SPDX-License-Identifier: Apache-2.0
#include "server/service/listen_error.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/str_cat.h"
#include "proto/config/address.h"

namespace vixen::server {
namespace {

std::string ReasonOf(const std::string& text) {
  const absl::StatusOr<config::Address> address = config::ParseAddress(text);
  if (!address.ok()) return std::string(address.status().message());
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(address->host.c_str(), std::to_string(address->port).c_str(), &hints, &found);
  if (failed != 0) return gai_strerror(failed);
  std::string reason = "it is not possible";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int descriptor = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    const int yes = 1;
    if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const bool fails = descriptor < 0 || bind(descriptor, at->ai_addr, at->ai_addrlen) != 0 ||
                       listen(descriptor, 1) != 0;
    if (fails) reason = std::strerror(errno);
    if (descriptor >= 0) close(descriptor);
    if (fails) break;
  }
  freeaddrinfo(found);
  return reason;
}

}  // namespace

absl::Status ListenError(std::string_view setting, const std::string& address) {
  return absl::UnavailableError(base::StrCat("cannot listen on ", address, ": ", ReasonOf(address),
                                             "; choose another address with --", setting));
}

}  // namespace vixen::server
