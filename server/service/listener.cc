// SPDX-License-Identifier: Apache-2.0
#include "server/service/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "proto/transport/listen_error.h"
#include "proto/transport/listening_sockets.h"

namespace vixen::server {
namespace {

constexpr int kRetryMs = 50;

int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool NoDescriptorLeft(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool NearTheLimit(int descriptor) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<uint64_t>(descriptor) + Listener::kSpareDescriptors >= limit.rlim_cur;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const char* setting,
                                                         const std::string& address) {
  absl::StatusOr<transport::ListeningSockets> opened = transport::OpenListeningSockets(address);
  if (!opened.ok()) {
    return transport::CannotListen(setting, address, std::string(opened.status().message()));
  }
  std::unique_ptr<Listener> listener(new Listener());
  listener->sockets_ = std::move(opened->sockets);
  listener->port_ = opened->port;
  listener->spare_ = OpenSpare();
  listener->wake_ = eventfd(0, EFD_CLOEXEC);
  if (listener->spare_ < 0 || listener->wake_ < 0) {
    return transport::CannotListen(setting, address, std::strerror(errno));
  }
  return listener;
}

Listener::~Listener() {
  Stop();
  transport::CloseAll(sockets_);
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
  stopping_ = true;
  const uint64_t one = 1;
  while (write(wake_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  transport::CloseAll(sockets_);
}

void Listener::Run() {
  std::vector<pollfd> waits = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const int socket : sockets_) waits.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  int last_error = 0;
  while (!stopping_) {
    if (poll(waits.data(), waits.size(), -1) < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      if (error != last_error) spdlog::error("listener: poll: {}", std::strerror(error));
      last_error = error;
      std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
      continue;
    }
    last_error = 0;
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
