// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "proto/transport/listen_error.h"
#include "proto/transport/listening_sockets.h"

namespace vixen::telemetry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 1000;    // deadlines are looked at so often
constexpr int kNoSocketMs = 50;  // pause while no descriptor is free and none can be freed

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(std::string_view setting,
                                                               const std::string& address,
                                                               HttpHandler handler) {
  auto opened = transport::OpenListeningSockets(address);
  if (!opened.ok()) {
    return transport::CannotListen(setting, address, std::string(opened.status().message()));
  }
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(handler)));
  server->listening_ = std::move(opened->sockets);
  server->port_ = opened->port;
  server->wake_ = eventfd(0, EFD_CLOEXEC);
  if (server->wake_ < 0) return transport::CannotListen(setting, address, std::strerror(errno));
  server->thread_ = std::thread([&self = *server] { self.Run(); });
  return server;
}

HttpServer::~HttpServer() {
  stopping_ = true;
  if (thread_.joinable()) {
    const uint64_t one = 1;
    while (write(wake_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }
  for (const Connection& connection : connections_) close(connection.socket);
  transport::CloseAll(listening_);
  if (wake_ >= 0) close(wake_);
}

void HttpServer::Run() {
  while (!stopping_) {
    std::vector<pollfd> waits = {{.fd = wake_, .events = POLLIN, .revents = 0}};
    for (const int socket : listening_) waits.push_back({socket, POLLIN, 0});
    const size_t first = waits.size();
    for (const Connection& connection : connections_) {
      const short events = connection.response.empty() ? POLLIN : POLLOUT;
      waits.push_back({connection.socket, events, 0});
    }
    if (poll(waits.data(), waits.size(), kLookMs) < 0 && errno != EINTR) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kNoSocketMs));
      continue;
    }
    size_t place = first;
    for (Connection& connection : connections_) {
      if (waits[place++].revents != 0) Serve(connection);
    }
    CloseFinished();
    for (size_t i = 1; i < first; ++i) {
      if (waits[i].revents != 0) AcceptFrom(waits[i].fd);
    }
  }
}

void HttpServer::AcceptFrom(int listening) {
  const int socket = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const bool none_free = socket < 0 && (errno == EMFILE || errno == ENFILE);
  if (socket < 0 && !none_free) return;
  if (!connections_.empty() && (none_free || connections_.size() >= kMostConnections)) {
    close(connections_.front().socket);
    connections_.pop_front();
  } else if (none_free) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kNoSocketMs));
  }
  if (socket < 0) return;
  connections_.push_back({.socket = socket, .opened = Clock::now()});
}

void HttpServer::Serve(Connection& connection) {
  if (connection.response.empty()) Read(connection);
  if (!connection.response.empty()) Write(connection);
}

void HttpServer::Read(Connection& connection) {
  std::array<char, 4096> buffer;
  const ssize_t count = recv(connection.socket, buffer.data(), buffer.size(), 0);
  if (count <= 0) {
    connection.done = count == 0 || !WouldBlock(errno);
    return;
  }
  connection.response =
      AddToRequest({buffer.data(), static_cast<size_t>(count)}, handler_, connection.request);
}

void HttpServer::Write(Connection& connection) {
  const ssize_t count =
      send(connection.socket, connection.response.data() + connection.sent,
           connection.response.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) {
    connection.done = !WouldBlock(errno);
    return;
  }
  connection.sent += static_cast<size_t>(count);
  connection.done = connection.sent == connection.response.size();
}

void HttpServer::CloseFinished() {
  const Clock::time_point oldest = Clock::now() - kRequestTime;
  connections_.remove_if([&](const Connection& connection) {
    if (!connection.done && connection.opened > oldest) return false;
    close(connection.socket);
    return true;
  });
}

}  // namespace vixen::telemetry
