// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/exit_code.h"
#include "base/keep_memory.h"
#include "learner/client/backoff.h"
#include "learner/options.h"
#include "learner/session.h"
#include "proto/config/command_line.h"
#include "proto/config/config_flags.h"
#include "proto/telemetry/log.h"
#include "vixen/v1/config.pb.h"

namespace {

constexpr char kProgram[] = "vixen-learner";

[[noreturn]] void EndNow(std::string_view why) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, why.data(), why.size());
  _exit(vixen::base::kExitFailed);
}

// Waits for SIGTERM or SIGINT (blocked in every thread) and asks for a stop. A second one, or the
// end of the grace period, ends the process as it is. SIGUSR1 ends the wait.
void WatchSignals(const sigset_t& signals, double grace_seconds, vixen::learner::StopFlag& stop) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0 || signal == SIGUSR1) return;
  spdlog::info("signal {}: stopping; a second one ends at once", signal);
  stop.Set();
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::nanoseconds(static_cast<int64_t>(grace_seconds * 1e9));
  int next = -1;
  do {  // a process that is frozen and goes on is interrupted in the wait
    const auto left =
        std::max(std::chrono::nanoseconds(0),
                 std::chrono::nanoseconds(deadline - std::chrono::steady_clock::now()));
    const timespec wait{.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000),
                        .tv_nsec = static_cast<long>(left.count() % 1'000'000'000)};
    next = sigtimedwait(&signals, nullptr, &wait);
  } while (next < 0 && errno == EINTR);
  if (next == SIGUSR1) return;
  if (next > 0) EndNow("vixen-learner: signalled again: ending now\n");
  EndNow("vixen-learner: not stopped within grace_seconds, leaving\n");
}

}  // namespace

int main(int argc, char** argv) {
  vixen::base::KeepFreedMemory();
  vixen::v1::LearnerConfig config;
  CLI::App app("Learns a policy from the batches of vixen-actor", kProgram);
  app.footer(
      "Examples:\n"
      "  vixen-learner --actor 127.0.0.1:50051 --out out/run1 --resume --progress\n"
      "  vixen-learner --offline batches --dataset bars.safetensors --out out/run2\n");
  vixen::config::ConfigFlags flags(app, config);
  if (std::optional<int> code = vixen::config::ParseCommandLine(app, argc, argv, kProgram)) {
    return *code;
  }
  absl::Status status = flags.Apply();
  if (status.ok()) status = vixen::learner::CompleteConfig(flags.origins(), config);
  if (!status.ok()) return vixen::base::ReportStatus(kProgram, status);
  status = vixen::telemetry::SetUpLog(kProgram, config.log());
  if (!status.ok()) return vixen::base::ReportStatus(kProgram, status);

  // LibTorch's OpenMP reads it once, before the first tensor.
  const std::string threads = std::to_string(vixen::learner::TorchThreads(config));
  setenv("OMP_NUM_THREADS", threads.c_str(), /*overwrite=*/1);

  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  vixen::learner::StopFlag stop;
  std::thread watcher([&] { WatchSignals(signals, config.grace_seconds(), stop); });

  status = vixen::learner::RunLearner(config, stop);
  pthread_kill(watcher.native_handle(), SIGUSR1);
  watcher.join();
  spdlog::default_logger()->flush();
  return vixen::base::ReportStatus(kProgram, status);
}
