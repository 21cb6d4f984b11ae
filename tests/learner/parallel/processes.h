// SPDX-License-Identifier: Apache-2.0
// Runs one function in several processes that are ranks of each other.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "learner/parallel/ranks.h"

namespace vixen::learner {

// A port of loopback that nothing listens on now; below those that the system gives out by itself
// (32768 unless told otherwise), so that nobody's connection takes it before the store listens: not
// even a rank's that asks for the store.
inline uint16_t FreePort() {
  std::random_device random;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  while (true) {
    const auto port = static_cast<uint16_t>(20'000 + random() % 12'000);
    address.sin_port = htons(port);
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const int taken = bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
    close(socket);
    if (taken == 0) return port;
  }
}

inline RankOptions OptionsOf(int rank, int world, uint16_t port) {
  RankOptions options;
  options.rank = rank;
  options.world = world;
  options.master = "127.0.0.1";
  options.port = port;
  options.serves_store = rank == 0;
  options.timeout = std::chrono::milliseconds(60'000);
  options.join_timeout = std::chrono::milliseconds(60'000);
  return options;
}

// In a process of InProcesses, which ends where it cannot.
inline std::unique_ptr<Ranks> MustJoin(const RankOptions& options) {
  StopFlag never;
  absl::StatusOr<std::unique_ptr<Ranks>> ranks = Ranks::Join(options, never);
  if (!ranks.ok()) {
    std::fprintf(stderr, "%s\n", ranks.status().ToString().c_str());
    _exit(1);
  }
  (*ranks)->Begin();
  return *std::move(ranks);
}

// What `body` returned in each of `world` forked processes, by rank; a process that ends otherwise
// gives what it had written until then: nothing. The caller has no threads but its own.
inline std::vector<std::string> InProcesses(int world,
                                            const std::function<std::string(int, uint16_t)>& body) {
  const uint16_t port = FreePort();
  std::vector<int> ends;
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    int ends_of_pipe[2];
    if (pipe(ends_of_pipe) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
      close(ends_of_pipe[0]);
      const std::string result = body(rank, port);
      size_t written = 0;
      while (written < result.size()) {
        const ssize_t n = write(ends_of_pipe[1], result.data() + written, result.size() - written);
        if (n <= 0) break;
        written += static_cast<size_t>(n);
      }
      _exit(0);
    }
    close(ends_of_pipe[1]);
    ends.push_back(ends_of_pipe[0]);
    children.push_back(child);
  }
  std::vector<std::string> results;
  for (const int end : ends) {
    std::string& result = results.emplace_back();
    char buffer[65536];
    ssize_t n = 0;
    while ((n = read(end, buffer, sizeof buffer)) > 0)
      result.append(buffer, static_cast<size_t>(n));
    close(end);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return results;
}

}  // namespace vixen::learner
