// SPDX-License-Identifier: Apache-2.0
#include "learner/parallel/rank_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "proto/config/address.h"

namespace vixen::learner {
namespace {

using Clock = std::chrono::steady_clock;

// A listening socket on loopback for the store, which would listen on every address otherwise.
absl::StatusOr<int> ListenOnLoopback(const RankOptions& options) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket >= 0 && setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(socket, 128) == 0) {
    return socket;
  }
  const absl::Status status = base::ErrnoToStatus(
      errno, "listen", absl::StrCat("MASTER_ADDR:MASTER_PORT 127.0.0.1:", options.port));
  if (socket >= 0) close(socket);
  return status;
}

}  // namespace

std::string FirstLine(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

absl::StatusOr<StorePtr> OpenStore(const RankOptions& options, Clock::time_point deadline,
                                   StopFlag& stop) {
  const bool loopback = config::Address{options.master, 0}.IsLoopback();
  c10d::TCPStoreOptions store;
  store.port = options.port;
  store.isServer = options.serves_store;
  store.waitWorkers = false;
  store.timeout = std::chrono::milliseconds(2000);
  if (options.serves_store && loopback) {
    VIXEN_ASSIGN_OR_RETURN(store.masterListenFd, ListenOnLoopback(options));
  }
  while (true) {
    try {
      auto tcp =
          c10::make_intrusive<c10d::TCPStore>(loopback ? "127.0.0.1" : options.master, store);
      tcp->setTimeout(options.timeout);
      return StorePtr(c10::make_intrusive<c10d::PrefixStore>(
          absl::StrCat("vixen/", options.attempt), std::move(tcp)));
    } catch (const std::exception& error) {
      if (stop.stopped()) return absl::CancelledError("stopped before the ranks met");
      if (!options.serves_store && Clock::now() < deadline) continue;
      return absl::UnavailableError(absl::StrCat("rank ", options.rank, " of ", options.world, ": ",
                                                 options.master, ":", options.port,
                                                 " (MASTER_ADDR:MASTER_PORT): ", FirstLine(error)));
    }
  }
}

}  // namespace vixen::learner
