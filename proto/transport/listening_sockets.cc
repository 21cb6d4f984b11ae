// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/listening_sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/status_macros.h"
#include "proto/config/address.h"

namespace vixen::transport {
namespace {

constexpr int kBacklog = 512;

bool SetOption(int socket, int level, int option, int value) {
  return setsockopt(socket, level, option, &value, sizeof(value)) == 0;
}

// −1 with errno when it is not possible.
int ListenOn(const addrinfo& at) {
  const int socket =
      ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
  if (socket < 0) return -1;
  // An accepted connection inherits TCP_NODELAY.
  const bool listening = SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1) &&
                         SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1) &&
                         bind(socket, at.ai_addr, at.ai_addrlen) == 0 &&
                         listen(socket, kBacklog) == 0;
  if (listening) return socket;
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void SetPort(addrinfo& at, int port) {
  if (at.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(at.ai_addr)->sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(at.ai_addr)->sin_port = htons(static_cast<uint16_t>(port));
  }
}

}  // namespace

absl::StatusOr<ListeningSockets> ListenOnAll(addrinfo* addresses) {
  ListeningSockets all;
  for (addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    if (all.port != 0) SetPort(*at, all.port);
    const int socket = ListenOn(*at);
    if (socket < 0) {
      const int error = errno;
      const bool another = at->ai_next != nullptr || !all.sockets.empty();
      if ((error == EAFNOSUPPORT || error == EADDRNOTAVAIL) && another) continue;
      CloseAll(all.sockets);
      return absl::UnavailableError(std::strerror(error));
    }
    all.sockets.push_back(socket);
    all.port = PortOf(socket);
  }
  return all;
}

absl::StatusOr<ListeningSockets> OpenListeningSockets(const std::string& text) {
  VIXEN_ASSIGN_OR_RETURN(const config::Address address, config::ParseAddress(text));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int failed = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found)) {
    return absl::UnavailableError(gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  return ListenOnAll(found);
}

void CloseAll(std::vector<int>& sockets) {
  for (const int socket : sockets) close(socket);
  sockets.clear();
}

}  // namespace vixen::transport
