// SPDX-License-Identifier: Apache-2.0
#include "server/service/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/address.h"

namespace vixen::server {
namespace {

constexpr int kBacklog = 512;
constexpr int kRetryMs = 50;

int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

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

bool NoDescriptorLeft(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool NearTheLimit(int descriptor) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<uint64_t>(descriptor) + Listener::kSpareDescriptors >= limit.rlim_cur;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const std::string& text) {
  const auto impossible = [&](std::string_view reason) {
    return absl::UnavailableError(base::StrCat("cannot listen on ", text, ": ", reason,
                                               "; choose another address with --listen"));
  };
  VIXEN_ASSIGN_OR_RETURN(const config::Address address, config::ParseAddress(text));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int failed = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found)) {
    return impossible(gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::unique_ptr<Listener> listener(new Listener());
  listener->spare_ = OpenSpare();
  listener->wake_ = eventfd(0, EFD_CLOEXEC);
  if (listener->spare_ < 0 || listener->wake_ < 0) return impossible(std::strerror(errno));
  for (addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (listener->port_ != 0) SetPort(*at, listener->port_);
    const int socket = ListenOn(*at);
    // A name may have an address of a family that this machine has not.
    if (socket < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) && at->ai_next != nullptr) {
      continue;
    }
    if (socket < 0) return impossible(std::strerror(errno));
    listener->sockets_.push_back(socket);
    listener->port_ = PortOf(socket);
  }
  return listener;
}

Listener::~Listener() {
  Stop();
  CloseSockets();
  if (wake_ >= 0) close(wake_);
  if (spare_ >= 0) close(spare_);
}

void Listener::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor,
                     std::function<void()> on_turned_away) {
  acceptor_ = std::move(acceptor);
  on_turned_away_ = std::move(on_turned_away);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  while (write(wake_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  CloseSockets();
}

void Listener::CloseSockets() {
  for (const int socket : sockets_) close(socket);
  sockets_.clear();
}

void Listener::Run() {
  std::vector<pollfd> waits = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const int socket : sockets_) waits.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      spdlog::error("listener: poll: {}", std::strerror(errno));
      return;
    }
    if (waits[0].revents != 0) return;
    for (const pollfd& wait : waits) {
      if (wait.fd != wake_ && wait.revents != 0) Accept(wait.fd);
    }
  }
}

void Listener::Accept(int socket) {
  const int connection = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    if (NoDescriptorLeft(errno)) TurnAway(socket);
    return;
  }
  if (NearTheLimit(connection)) {
    close(connection);
    on_turned_away_();
    return;
  }
  GiveToGrpc(socket, connection);
}

// Who waits in the backlog would wake the poll for ever: the spare descriptor takes and closes one.
void Listener::TurnAway(int socket) {
  if (spare_ >= 0) close(spare_);
  const int connection = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection >= 0) {
    close(connection);
    on_turned_away_();
  }
  spare_ = OpenSpare();
  pollfd pause = {.fd = wake_, .events = POLLIN, .revents = 0};
  if (connection < 0) poll(&pause, 1, kRetryMs);
}

void Listener::GiveToGrpc(int socket, int connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = socket;
  parameters.fd = connection;
  acceptor_->HandleNewConnection(&parameters);
}

}  // namespace vixen::server
