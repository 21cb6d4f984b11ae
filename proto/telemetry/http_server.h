// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/telemetry/http_exchange.h"

namespace vixen::telemetry {

// Answers GET and HEAD of a few small pages (metrics, probes) over HTTP/1.1, one request a
// connection. One thread waits for all connections at once, so that none can hold up another: a
// client that says nothing, or takes nothing, costs a descriptor for kRequestTime, and above
// kMostConnections the oldest is closed. Nothing of a request is kept but its path; more than
// kMostRequestBytes of it end the connection.
class HttpServer {
 public:
  static constexpr size_t kMostConnections = 128;
  static constexpr std::chrono::seconds kRequestTime{10};

  // UNAVAILABLE "cannot listen on ADDRESS: reason; choose another address with --SETTING". Port 0
  // chooses a free one. `handler` is called on the server's thread.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(std::string_view setting,
                                                            const std::string& address,
                                                            HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  struct Connection {
    int socket = -1;
    std::chrono::steady_clock::time_point opened;
    std::string request;
    std::string response;  // empty: still reading
    size_t sent = 0;
    bool done = false;
  };

  explicit HttpServer(HttpHandler handler) : handler_(std::move(handler)) {}
  void Run();
  void AcceptFrom(int listening);
  void Serve(Connection& connection);
  void Read(Connection& connection);
  void Write(Connection& connection);
  void CloseFinished();

  const HttpHandler handler_;
  std::vector<int> listening_;
  int wake_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::list<Connection> connections_;  // the oldest first; of the thread alone
  std::thread thread_;
};

}  // namespace vixen::telemetry
