// SPDX-License-Identifier: Apache-2.0
#include "learner/session.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "learner/client/channel.h"
#include "learner/client/dataset_fetch.h"
#include "learner/client/run_book.h"
#include "learner/client/sheet_log.h"
#include "learner/loop/learner.h"
#include "learner/loop/plan.h"
#include "learner/loop/stored_batches.h"
#include "learner/metrics/metrics.h"
#include "learner/options.h"
#include "learner/parallel/rank_options.h"
#include "learner/parallel/ranks.h"
#include "learner/service/learner_server.h"
#include "learner/trainer/device.h"
#include "proto/config/config_file.h"

namespace vixen::learner {
namespace {

struct FirstActor {
  std::unique_ptr<v1::Actor::Stub> stub;
  v1::GetInfoResponse info;
};

// Asks the actors by turns until one answers, for max_seconds at most.
absl::StatusOr<FirstActor> WaitForActor(const v1::LearnerConfig& config, StopFlag& stop) {
  const auto started = std::chrono::steady_clock::now();
  const std::chrono::duration<double> most(config.stop().max_seconds());
  Backoff backoff;
  while (true) {
    absl::Status status;
    for (const std::string& address : config.actor()) {
      VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                             MakeChannel(address, config.tls(), config.keepalive_seconds()));
      FirstActor first;
      first.stub = v1::Actor::NewStub(std::move(channel));
      grpc::ClientContext context;
      SetDeadline(context, std::chrono::milliseconds(5000));
      status = FromGrpc(first.stub->GetInfo(&context, v1::GetInfoRequest(), &first.info),
                        absl::StrCat("actor ", address, ": GetInfo"));
      if (status.ok()) return first;
      if (!IsTransient(status)) return status;
    }
    if (most.count() > 0 && std::chrono::steady_clock::now() - started >= most) {
      return absl::UnavailableError(absl::StrCat("no actor answered within max_seconds ",
                                                 most.count(), "; last: ", status.message()));
    }
    spdlog::warn("no actor answers yet ({})", status.ToString());
    if (!backoff.Wait(stop)) return absl::CancelledError("stopped before an actor answered");
  }
}

// From recorded batches, without an actor.
absl::Status RunOffline(const v1::LearnerConfig& config, const Devices& devices, Ranks* ranks,
                        RunBook& book, Metrics& metrics, StopFlag& stop) {
  metrics.health().Enter("loading the dataset and the recorded batches");
  VIXEN_ASSIGN_OR_RETURN(StoredBatches stored,
                         StoredBatches::Open({config.offline().begin(), config.offline().end()}));
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<const market::Dataset> dataset,
                         market::Dataset::Load(config.dataset()));
  VIXEN_ASSIGN_OR_RETURN(const v1::GetInfoResponse info, stored.Info(dataset->bars()));
  const auto own = dataset->fingerprint();
  if (std::string(own.begin(), own.end()) != info.dataset().fingerprint()) {
    return absl::FailedPreconditionError(absl::StrCat(
        config.dataset(), " has fingerprint ", base::ToHex(own), ", the batches were made on ",
        absl::BytesToHexString(info.dataset().fingerprint())));
  }
  VIXEN_ASSIGN_OR_RETURN(Plan plan, MakePlan(config, info, !devices.gpu.has_value()));
  if (ranks != nullptr) {
    plan.rank = ranks->rank();
    stored.KeepShare(static_cast<size_t>(ranks->rank()), ranks->size());
  }
  spdlog::info("offline: {} recorded batches; policy {}: network {}, device {}, {} threads",
               stored.size(), config.policy(), plan.architecture.Describe(), devices.name(),
               TorchThreads(config));
  VIXEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<Learner> learner,
      Learner::Create(plan, std::move(dataset), devices, std::move(stored), ranks, book, metrics));
  return learner->Run(stop);
}

absl::Status RunOnline(const v1::LearnerConfig& config, const Devices& devices, Ranks* ranks,
                       RunBook& book, Metrics& metrics, StopFlag& stop) {
  metrics.health().Enter("waiting for an actor");
  absl::StatusOr<FirstActor> first = WaitForActor(config, stop);
  if (!first.ok()) return stop.stopped() ? absl::OkStatus() : first.status();
  VIXEN_ASSIGN_OR_RETURN(Plan plan, MakePlan(config, first->info, !devices.gpu.has_value()));
  if (ranks != nullptr) plan.rank = ranks->rank();
  spdlog::info("policy {}: network {}, {} of {} actions, device {}, {} threads", config.policy(),
               plan.architecture.Describe(), plan.actions().size(), kernels::kActions,
               devices.name(), TorchThreads(config));

  metrics.health().Enter("getting the dataset");
  absl::StatusOr<std::shared_ptr<const market::Dataset>> dataset =
      config.dataset().empty()
          ? FetchDataset(*first->stub, first->info.dataset(), config.cache(), stop)
          : LoadMatchingDataset(config.dataset(), first->info.dataset());
  if (!dataset.ok()) return stop.stopped() ? absl::OkStatus() : dataset.status();
  metrics.health().Enter("making the trainer and the replay, reading the checkpoint");
  VIXEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<Learner> learner,
      Learner::Create(plan, *std::move(dataset), devices, std::nullopt, ranks, book, metrics));
  return learner->Run(stop);
}

// Opens the metrics and the Learner service, and writes which ports they have.
absl::StatusOr<std::unique_ptr<LearnerServer>> Listen(const v1::LearnerConfig& config,
                                                      const std::string& device,
                                                      const RunBook& book, Metrics& metrics) {
  std::unique_ptr<LearnerServer> server;
  int metrics_port = 0;
  if (!config.metrics_listen().empty()) {
    VIXEN_ASSIGN_OR_RETURN(metrics_port, metrics.Serve(config, device, book));
  }
  if (!config.listen().empty()) {
    v1::LearnerInfoResponse fixed;
    fixed.set_version(std::string(base::Version()));
    fixed.set_policy(config.policy());
    fixed.set_configuration(config::EffectiveText(config));
    fixed.set_device(device);
    VIXEN_ASSIGN_OR_RETURN(server,
                           LearnerServer::Listen(config.listen(), std::move(fixed), book, metrics));
  }
  if (!config.port_file().empty()) {
    const int port = server == nullptr ? 0 : server->port();
    VIXEN_RETURN_IF_ERROR(base::WriteFileAtomically(config.port_file(),
                                                    absl::StrCat(metrics_port, "\n", port, "\n")));
  }
  return server;
}

// The other learners of this policy, or null.
absl::StatusOr<std::unique_ptr<Ranks>> MeetRanks(const std::optional<RankOptions>& rank,
                                                 StopFlag& stop) {
  if (!rank.has_value()) return nullptr;
  spdlog::info("rank {} of {}: meeting the others at {}:{}", rank->rank, rank->world, rank->master,
               rank->port);
  return Ranks::Join(*rank, stop);
}

}  // namespace

absl::Status RunLearner(const v1::LearnerConfig& given, StopFlag& stop) {
  v1::LearnerConfig config = given;
  VIXEN_ASSIGN_OR_RETURN(
      const std::optional<RankOptions> rank,
      RankOptionsOf(config, [](const char* name) -> const char* { return std::getenv(name); }));
  if (rank.has_value()) SetApart(*rank, config);
  std::cout << config::EffectiveText(config) << std::flush;
  const int local = rank.has_value() ? rank->local_rank : 0;
  VIXEN_ASSIGN_OR_RETURN(const Devices devices,
                         SetUpDevices(config.device(), local, TorchThreads(config)));
  VIXEN_RETURN_IF_ERROR(CheckMemory(config, /*replay_on_host=*/!devices.gpu.has_value()));
  RunBook book(config.policy(), config.group());
  Metrics metrics;
  VIXEN_ASSIGN_OR_RETURN(const std::unique_ptr<LearnerServer> server,
                         Listen(config, devices.name(), book, metrics));
  absl::StatusOr<std::unique_ptr<Ranks>> ranks = MeetRanks(rank, stop);
  if (!ranks.ok()) return stop.stopped() ? absl::OkStatus() : ranks.status();
  absl::Status status = config.offline().empty()
                            ? RunOnline(config, devices, ranks->get(), book, metrics, stop)
                            : RunOffline(config, devices, ranks->get(), book, metrics, stop);
  LogSheets(book);
  return status;
}

}  // namespace vixen::learner
