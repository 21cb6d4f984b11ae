// SPDX-License-Identifier: Apache-2.0
#include "server/actor.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/transport/certificates.h"
#include "server/metrics/balance_collector.h"
#include "server/metrics/balance_log.h"
#include "server/metrics/gpu_collector.h"
#include "server/metrics/tls_collector.h"
#include "server/service/role_check.h"

namespace vixen::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostMessageBytes = 8 << 20;
constexpr int kMostMetadataBytes = 8 << 10;
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr std::chrono::milliseconds kConnectionAgeGrace(30'000);
constexpr int kLeastPingIntervalMs = 10'000;
constexpr std::chrono::seconds kShortCalls(1);
constexpr std::chrono::milliseconds kLeastWait(100);

// A peer that went without a word is noticed also while nothing is sent to it: without the last
// argument gRPC asks only twice until it has data again. Peers may ask every
// kLeastPingIntervalMs, or twice as often as we do where that is more often.
void AddKeepalive(double seconds, grpc::ServerBuilder& builder) {
  const int period = static_cast<int>(seconds * 1000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, period);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, std::max(1, period / 2));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             std::min(kLeastPingIntervalMs, period / 2));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

void SetLimits(const v1::StreamSettings& stream, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMostMessageBytes);
  AddKeepalive(stream.keepalive_seconds(), builder);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(stream.max_streams()) + 16);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  if (stream.max_connection_age_seconds() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               static_cast<int>(stream.max_connection_age_seconds() * 1000));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               static_cast<int>(kConnectionAgeGrace.count()));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Actor>> Actor::Start(
    const v1::ActorConfig& config, const kernels::CollectorFactory& make_collector) {
  VIXEN_ASSIGN_OR_RETURN(ActorSetup setup, SetUpActor(config, make_collector));
  std::unique_ptr<Actor> actor(new Actor(std::move(setup)));
  VIXEN_RETURN_IF_ERROR(actor->Listen(config));
  actor->loop_.Start();
  actor->SetServing(true);
  return actor;
}

Actor::Actor(ActorSetup setup)
    : setup_(std::move(setup)),
      actor_metrics_(setup_.executor.executor, setup_.executor.device),
      policies_(setup_.run, actor_metrics_, [this] { loop_.Notify(); }),
      intake_(setup_.run, policies_, actor_metrics_),
      streams_(setup_.run.limits.max_streams(),
               std::chrono::duration<double>(setup_.run.limits.progress_deadline_seconds()),
               actor_metrics_),
      loop_(setup_.run, policies_, actor_metrics_,
            [this](absl::Status status) { RequestStopWith(std::move(status)); }),
      state_{.run = setup_.run,
             .metrics = actor_metrics_,
             .policies = policies_,
             .intake = intake_,
             .streams = streams_,
             .staging = staging_,
             .encoding = encoding_,
             .dataset_file = setup_.dataset_file,
             .notify_collector = [this] { loop_.Notify(); },
             .request_drain = [this] { RequestStop(); },
             .info = setup_.info,
             .started = Clock::now()} {}

Actor::~Actor() {
  Stop(Clock::now());
  if (shutdown_.joinable()) shutdown_.join();
}

absl::Status Actor::Listen(const v1::ActorConfig& config) {
  if (!config.metrics_listen().empty()) {
    VIXEN_ASSIGN_OR_RETURN(metrics_, MetricsServer::Listen(config.metrics_listen()));
    metrics_->Add(actor_metrics_.registry());
    metrics_->Add(std::make_shared<BalanceCollector>(policies_));
    metrics_->Add(std::make_shared<ProcessCollector>());
    if (!setup_.executor.pci_bus_id.empty()) AddGpuMetrics();
  }
  if (!config.health_listen().empty()) {
    VIXEN_ASSIGN_OR_RETURN(health_, HealthServer::Listen(config.health_listen()));
  }
  VIXEN_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                         Credentials(config.tls()));
  VIXEN_ASSIGN_OR_RETURN(listener_, Listener::Bind(config.listen()));
  port_ = listener_->port();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  builder.RegisterService(&actor_service_);
  builder.RegisterService(&weights_service_);
  builder.RegisterService(&admin_service_);
  SetLimits(config.stream(), builder);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC refuses to start a server");
  SetServing(false);
  listener_->Start(std::move(acceptor),
                   [this] { actor_metrics_.connections_turned_away->Increment(); });
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Actor::Credentials(
    const v1::TlsSettings& tls) {
  if (tls.tls_certificate().empty()) return grpc::InsecureServerCredentials();
  VIXEN_ASSIGN_OR_RETURN(const transport::Certificates* certificates,
                         transport::Certificates::Open(tls));
  std::shared_ptr<grpc::ServerCredentials> credentials = certificates->ServerCredentials();
  if (!tls.tls_ca().empty()) credentials->SetAuthMetadataProcessor(std::make_shared<RoleCheck>());
  if (metrics_) metrics_->Add(std::make_shared<TlsCollector>(*certificates));
  return credentials;
}

void Actor::AddGpuMetrics() {
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(setup_.executor.pci_bus_id);
  if (!nvml.ok()) {
    spdlog::warn("{}", nvml.status().ToString());
    return;
  }
  metrics_->Add(std::make_shared<GpuCollector>(*std::move(nvml), setup_.executor.pci_bus_id));
}

void Actor::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  for (const char* service : {"", "vixen.v1.Actor", "vixen.v1.Weights", "vixen.v1.Admin"}) {
    health->SetServingStatus(service, serving);
    if (health_) health_->SetServing(service, serving);
  }
  actor_metrics_.ready->Set(serving ? 1 : 0);
}

void Actor::RequestStop() { RequestStopWith(absl::OkStatus()); }

void Actor::RequestStopWith(absl::Status status) {
  std::lock_guard lock(mutex_);
  if (!stop_) stop_ = std::move(status);
  stop_requested_.notify_all();
}

absl::Status Actor::WaitForStop() {
  std::unique_lock lock(mutex_);
  stop_requested_.wait(lock, [this] { return stop_.has_value(); });
  return *stop_;
}

void Actor::Enter(const char* phase) {
  phase_ = phase;
  spdlog::debug("stop: {}", phase);
}

void Actor::Stop(Clock::time_point deadline) {
  if (std::exchange(stopped_, true)) return;
  state_.draining = true;
  actor_metrics_.draining->Set(1);
  if (server_) SetServing(false);
  Enter("telling the streams");
  policies_.StopAllCredit();
  streams_.DrainAll();
  Enter("waiting for the last launch");
  loop_.Stop();
  Enter("sending what is reserved");
  // A tenth of the time, at most a second, is kept for cutting off those that do not take it.
  const Clock::duration left = std::max(deadline - Clock::now(), Clock::duration::zero());
  const Clock::duration reserve = std::min<Clock::duration>(left / 10, std::chrono::seconds(1));
  if (!streams_.WaitUntilEmpty(deadline - reserve)) {
    spdlog::warn("cutting off streams that did not take what was reserved for them");
    streams_.AbortAll(absl::UnavailableError("the actor is stopping"));
  }
  LogBooks(policies_);
  Enter("ending the gRPC server");
  if (listener_) listener_->Stop();
  if (!EndServer(deadline)) {
    spdlog::warn("a peer takes nothing any more: its connection is left to the system");
  }
  Enter("ending the threads");
  staging_.Stop();
  encoding_.Stop();
  Enter("stopped");
}

// gRPC closes a connection only when the write under way on it is done, also after Shutdown's
// deadline: a frozen peer would hold up the stop until TCP gives up. So it runs beside, and is
// waited for no longer than `deadline`.
bool Actor::EndServer(Clock::time_point deadline) {
  if (!server_) return true;
  // Only short calls are left. Idle clients are not waited for: some look at their connection every
  // five seconds only.
  const Clock::duration rest =
      std::clamp<Clock::duration>(deadline - Clock::now(), Clock::duration::zero(), kShortCalls);
  shutdown_ = std::thread([this, rest] {
    server_->Shutdown(std::chrono::system_clock::now() +
                      std::chrono::duration_cast<std::chrono::system_clock::duration>(rest));
    server_->Wait();
    std::lock_guard lock(mutex_);
    server_ended_ = true;
    stop_requested_.notify_all();
  });
  std::unique_lock lock(mutex_);
  return stop_requested_.wait_until(lock, std::max(deadline, Clock::now() + kLeastWait),
                                    [this] { return server_ended_; });
}

}  // namespace vixen::server
