// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace vixen::server {

// Accepts connections of one of the actor's gRPC servers and hands them to gRPC. gRPC 1.51's own
// listener stops for ever after one accept without a free descriptor; this one turns away who comes
// too late and goes on: below the last kSpareDescriptors of the process's limit it accepts, above
// it closes at once, so that files and the like can still be opened. A turned-away peer sees its
// connection closed.
class Listener {
 public:
  static constexpr uint64_t kSpareDescriptors = 64;

  // Listens on HOST:PORT (every address of HOST; port 0 chooses one). UNAVAILABLE of
  // listen_error.h, naming `setting`.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const char* setting,
                                                        const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  // Begins to accept: once, after the gRPC server has started. `on_turned_away` is called from the
  // listener's thread.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor,
             std::function<void()> on_turned_away);
  // Stops listening. Before the gRPC server ends.
  void Stop();

 private:
  Listener() = default;
  void Run();
  void Accept(int socket);
  void TurnAway(int socket);
  void GiveToGrpc(int socket, int connection);

  std::vector<int> sockets_;
  int wake_ = -1;   // an eventfd: Stop
  int spare_ = -1;  // a descriptor to close when there is none left
  int port_ = 0;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::function<void()> on_turned_away_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace vixen::server
