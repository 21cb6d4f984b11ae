// SPDX-License-Identifier: Apache-2.0
// vixen-actor: serves experience from one executor.
#include <grpc/support/log.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/keep_memory.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/command_line.h"
#include "proto/config/config_file.h"
#include "proto/config/config_flags.h"
#include "proto/telemetry/log.h"
#include "server/actor.h"

#include "vixen/v1/config.pb.h"

namespace vixen::server {
namespace {

constexpr char kProgram[] = "vixen-actor";

// gRPC's own lines are for debugging; what matters of them becomes a status.
void LogGrpc(gpr_log_func_args* arguments) {
  spdlog::debug("grpc {}:{}: {}", arguments->file, arguments->line, arguments->message);
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// The first signal asks for a clean stop, the second ends the process. While the actor loads
// nothing is to be stopped cleanly.
void HandleSignals(Actor* actor) {
  const sigset_t signals = StopSignals();
  int number = 0;
  sigwait(&signals, &number);
  if (!actor->loaded()) {
    spdlog::info("signal {} during the start: ending", number);
    std::fflush(nullptr);
    std::_Exit(base::kExitDone);
  }
  spdlog::info("signal {}: stopping; a second one ends at once", number);
  actor->RequestStop();
  sigwait(&signals, &number);
  spdlog::error("signal {} again: ending now", number);
  std::_Exit(base::kExitFailed);
}

// A shutdown that hangs ends here, with a name for what it hung in.
void WatchShutdown(const Actor* actor, std::chrono::steady_clock::time_point deadline) {
  std::this_thread::sleep_until(deadline);
  std::fprintf(stderr, "%s: shutdown hangs while %s; ending the process\n", kProgram,
               actor->phase());
  std::_Exit(base::kExitFailed);
}

absl::Status WritePortFile(const std::string& path, const Actor& actor) {
  if (path.empty()) return absl::OkStatus();
  std::string ports = base::StrCat(actor.port(), "\n", actor.metrics_port(), "\n");
  if (actor.health_port() != 0) ports += base::StrCat(actor.health_port(), "\n");
  return base::WriteFileAtomically(path, ports);
}

absl::StatusOr<kernels::CollectorFactory> Choose(const v1::ActorConfig& config) {
  VIXEN_ASSIGN_OR_RETURN(kernels::ChosenExecutor chosen,
                         kernels::ChooseExecutor(ToExecutorWish(config.execution())));
  spdlog::info("executor {}: {}", kernels::ExecutorKindName(chosen.kind), chosen.reason);
  return std::move(chosen.make);
}

absl::Status RunActor(const v1::ActorConfig& config) {
  VIXEN_RETURN_IF_ERROR(telemetry::SetUpLog("vixen-actor", config.log()));
  gpr_set_log_function(LogGrpc);
  std::cout << config::EffectiveText(config) << std::flush;
  // A file of an earlier run would name ports that are no longer ours.
  if (!config.port_file().empty()) std::remove(config.port_file().c_str());
  VIXEN_ASSIGN_OR_RETURN(const std::unique_ptr<Actor> actor, Actor::Listen(config));
  std::thread(HandleSignals, actor.get()).detach();
  absl::Status result = actor->Load([&] { return Choose(config); }, /*warm_up=*/true);
  if (result.ok()) result = WritePortFile(config.port_file(), *actor);
  if (result.ok()) {
    spdlog::info("serving gRPC on port {}, metrics on port {}, run {}", actor->port(),
                 actor->metrics_port(), actor->run_id());
    result = actor->WaitForStop();
  }
  const auto grace = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(config.grace_seconds()));
  const auto deadline = std::chrono::steady_clock::now() + grace;
  std::thread(WatchShutdown, actor.get(), deadline + std::chrono::seconds(5)).detach();
  actor->Stop(deadline);
  spdlog::info("stopped");
  spdlog::default_logger()->flush();
  spdlog::shutdown();
  // The detached threads still refer to the actor: the process ends without destroying it.
  std::fflush(nullptr);
  std::_Exit(base::ReportStatus(kProgram, result));
}

int Main(int argc, char** argv) {
  base::KeepFreedMemory();
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();

  CLI::App app("Collects experience on bars and serves it over gRPC.", "vixen-actor");
  app.footer(
      "Examples:\n"
      "  vixen-actor --dataset bars.safetensors --preset recommended --carry_over\n"
      "  vixen-actor --config actor.textproto --dataset bars.safetensors --listen 127.0.0.1:0 "
      "--port_file actor.ports\n");
  v1::ActorConfig config;
  config::ConfigFlags flags(app, config);
  if (const std::optional<int> code = config::ParseCommandLine(app, argc, argv, kProgram)) {
    return *code;
  }
  if (const absl::Status status = flags.Apply(); !status.ok()) {
    return base::ReportStatus(kProgram, status);
  }
  return base::ReportStatus(kProgram, RunActor(config));
}

}  // namespace
}  // namespace vixen::server

int main(int argc, char** argv) { return vixen::server::Main(argc, argv); }
