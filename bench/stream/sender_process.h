// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::bench {

// What one actor of the sending process sends.
struct SenderActor {
  uint32_t episodes = 0;
  uint32_t steps = 0;
  uint64_t chunk_bytes = 0;
  v1::TlsSettings tls;
};

// The sending end as a process of its own, so that its CPU time is its own: one real actor for each
// entry, and the naive server. To be started before this process uses gRPC (it forks).
class SenderProcess {
 public:
  static absl::StatusOr<std::unique_ptr<SenderProcess>> Start(
      const std::vector<SenderActor>& actors);
  ~SenderProcess();
  SenderProcess(const SenderProcess&) = delete;
  SenderProcess& operator=(const SenderProcess&) = delete;

  int naive_port() const { return ports_.front(); }
  int actor_port(size_t actor) const { return ports_[actor + 1]; }
  pid_t pid() const { return pid_; }
  // User and system time of the process so far.
  double CpuSeconds() const;

 private:
  SenderProcess(pid_t pid, int stop_pipe, std::vector<int> ports)
      : pid_(pid), stop_pipe_(stop_pipe), ports_(std::move(ports)) {}

  pid_t pid_;
  int stop_pipe_;  // the child ends when it is closed
  std::vector<int> ports_;
};

}  // namespace vixen::bench
