// SPDX-License-Identifier: Apache-2.0
#include "bench/stream/sender_process.h"

#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/child_process.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "bench/stream/naive_stream.h"
#include "bench/stream/ready_actor.h"

namespace vixen::bench {
namespace {

// Serves until `stop` is closed at its other end.
absl::Status Serve(const std::vector<SenderActor>& actors, const std::string& folder, int ports_out,
                   int stop) {
  const std::string dataset = folder + "/bars.safetensors";
  VIXEN_RETURN_IF_ERROR(WriteBenchDataset(dataset));
  const NaiveServer naive;
  std::vector<int> ports = {naive.port()};
  std::vector<std::unique_ptr<server::Actor>> running;
  for (const SenderActor& actor : actors) {
    VIXEN_ASSIGN_OR_RETURN(auto started, StartReadyActor(dataset, actor.episodes, actor.steps,
                                                         actor.chunk_bytes, actor.tls));
    ports.push_back(started->port());
    running.push_back(std::move(started));
  }
  const auto bytes = static_cast<ssize_t>(ports.size() * sizeof(int));
  if (write(ports_out, ports.data(), static_cast<size_t>(bytes)) != bytes) {
    return base::ErrnoToStatus(errno, "write", "pipe");
  }
  close(ports_out);
  char byte = 0;
  while (read(stop, &byte, 1) < 0 && errno == EINTR) {
  }
  for (const auto& actor : running) {
    actor->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(1));
  }
  return absl::OkStatus();
}

[[noreturn]] void RunChild(const std::vector<SenderActor>& actors, int ports_out, int stop) {
  spdlog::set_level(spdlog::level::warn);
  std::string folder = (std::filesystem::temp_directory_path() / "vixen-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::_Exit(1);
  const absl::Status status = Serve(actors, folder, ports_out, stop);
  if (!status.ok()) std::fprintf(stderr, "bench stream: %s\n", status.ToString().c_str());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::_Exit(status.ok() ? 0 : 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SenderProcess>> SenderProcess::Start(
    const std::vector<SenderActor>& actors) {
  std::array<int, 2> ports_pipe{};
  std::array<int, 2> stop_pipe{};
  if (pipe(ports_pipe.data()) != 0 || pipe(stop_pipe.data()) != 0) {
    return base::ErrnoToStatus(errno, "pipe", "");
  }
  const pid_t child = fork();
  if (child < 0) return base::ErrnoToStatus(errno, "fork", "");
  if (child == 0) {
    close(ports_pipe[0]);
    close(stop_pipe[1]);
    RunChild(actors, ports_pipe[1], stop_pipe[0]);
  }
  close(ports_pipe[1]);
  close(stop_pipe[0]);
  std::vector<int> ports(actors.size() + 1);
  const auto bytes = static_cast<ssize_t>(ports.size() * sizeof(int));
  const bool told = read(ports_pipe[0], ports.data(), static_cast<size_t>(bytes)) == bytes;
  close(ports_pipe[0]);
  std::unique_ptr<SenderProcess> process(new SenderProcess(child, stop_pipe[1], std::move(ports)));
  if (!told) return absl::InternalError("the sending process did not start; it says why above");
  return process;
}

SenderProcess::~SenderProcess() {
  close(stop_pipe_);
  waitpid(pid_, nullptr, 0);
}

double SenderProcess::CpuSeconds() const { return base::CpuSecondsOf(pid_); }

}  // namespace vixen::bench
