// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/exit_code.h"
#include "base/keep_memory.h"
#include "learner/client/backoff.h"
#include "learner/options.h"
#include "learner/session.h"
#include "proto/config/command_line.h"
#include "proto/config/config_flags.h"
#include "vixen/v1/config.pb.h"

namespace {

constexpr char kProgram[] = "vixen-learner";

// Logs go to stderr; stdout stays free for what a caller asked for.
void SetUpLogs(const vixen::v1::LogSettings& log) {
  spdlog::set_default_logger(spdlog::stderr_color_mt(kProgram));
  spdlog::set_level(spdlog::level::from_str(log.log_level()));
  if (log.log_format() == vixen::v1::JSON) {
    spdlog::set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","program":"%n","message":"%v"})");
  } else {
    spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  }
}

// Waits for SIGTERM or SIGINT (blocked in every thread), asks for a stop, and ends the process
// should the stop take longer than the grace period. SIGUSR1 ends the wait.
void WatchSignals(const sigset_t& signals, double grace_seconds, vixen::learner::StopFlag& stop,
                  vixen::learner::StopFlag& ended) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0 || signal == SIGUSR1) return;
  stop.Set();
  if (ended.WaitFor(std::chrono::nanoseconds(static_cast<int64_t>(grace_seconds * 1e9)))) return;
  static const char kMessage[] = "vixen-learner: not stopped within grace_seconds, leaving\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(vixen::base::kExitFailed);
}

}  // namespace

int main(int argc, char** argv) {
  vixen::base::KeepFreedMemory();
  vixen::v1::LearnerConfig config;
  CLI::App app("Learns a policy from the batches of vixen-actor", kProgram);
  vixen::config::ConfigFlags flags(app, config);
  if (std::optional<int> code = vixen::config::ParseCommandLine(app, argc, argv, kProgram)) {
    return *code;
  }
  absl::Status status = flags.Apply();
  if (status.ok()) status = vixen::learner::CompleteConfig(flags.origins(), config);
  if (!status.ok()) return vixen::base::ReportStatus(kProgram, status);
  SetUpLogs(config.log());

  // LibTorch's OpenMP reads it once, before the first tensor.
  const std::string threads = std::to_string(vixen::learner::TorchThreads(config));
  setenv("OMP_NUM_THREADS", threads.c_str(), /*overwrite=*/1);

  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  vixen::learner::StopFlag stop, ended;
  std::thread watcher([&] { WatchSignals(signals, config.grace_seconds(), stop, ended); });

  status = vixen::learner::RunLearner(config, stop);
  ended.Set();
  pthread_kill(watcher.native_handle(), SIGUSR1);
  watcher.join();
  return vixen::base::ReportStatus(kProgram, status);
}
