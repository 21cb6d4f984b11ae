// SPDX-License-Identifier: Apache-2.0
#include "server/actor.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "proto/telemetry/log.h"
#include "proto/telemetry/process_collector.h"
#include "proto/telemetry/tls_collector.h"
#include "proto/transport/certificates.h"
#include "proto/transport/uncompressed_requests.h"
#include "server/metrics/balance_collector.h"
#include "server/metrics/balance_log.h"
#include "server/metrics/gpu_collector.h"
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
  transport::RefuseCompressedRequests(stream.compression() == v1::COMPRESSION_GZIP, builder);
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

absl::StatusOr<std::unique_ptr<Actor>> Actor::Listen(const v1::ActorConfig& config) {
  if (config.dataset().empty()) {
    return base::UsageError("dataset is not set; give --dataset FILE (vixen import, vixen synth)");
  }
  VIXEN_ASSIGN_OR_RETURN(const Faults faults, Faults::Parse(config.faults()));
  std::unique_ptr<Actor> actor(new Actor(config, faults));
  VIXEN_RETURN_IF_ERROR(actor->OpenListeners());
  return actor;
}

absl::StatusOr<std::unique_ptr<Actor>> Actor::Start(
    const v1::ActorConfig& config, const kernels::CollectorFactory& make_collector) {
  VIXEN_ASSIGN_OR_RETURN(std::unique_ptr<Actor> actor, Listen(config));
  VIXEN_RETURN_IF_ERROR(actor->Load([&] { return make_collector; }, /*warm_up=*/false));
  return actor;
}

Actor::Actor(const v1::ActorConfig& config, const Faults& faults)
    : config_(config), faults_(faults) {}

Actor::~Actor() {
  Stop(Clock::now());
  if (shutdown_.joinable()) shutdown_.join();
}

absl::Status Actor::OpenListeners() {
  if (!config_.metrics_listen().empty()) {
    VIXEN_ASSIGN_OR_RETURN(metrics_, telemetry::MetricsServer::Listen(
                                         config_.metrics_listen(),
                                         {{"/startupz", [this] { return health_.Startup(); }},
                                          {"/readyz", [this] { return health_.Readiness(); }},
                                          {"/livez", [this] { return health_.Liveness(); }}}));
    metrics_->Add(actor_metrics_.registry());
    metrics_->Add(std::make_shared<telemetry::ProcessCollector>());
    metrics_->Add(std::make_shared<telemetry::LogCollector>());
  }
  if (!config_.health_listen().empty()) {
    VIXEN_ASSIGN_OR_RETURN(health_server_, HealthServer::Listen(config_.health_listen(), health_));
  }
  VIXEN_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                         Credentials(config_.tls()));
  VIXEN_ASSIGN_OR_RETURN(listener_, Listener::Bind("listen", config_.listen()));
  port_ = listener_->port();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  builder.RegisterService(&actor_service_);
  builder.RegisterService(&weights_service_);
  builder.RegisterService(&admin_service_);
  SetLimits(config_.stream(), builder);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC refuses to start a server");
  health_.Attach(server_->GetHealthCheckService());
  listener_->Start(std::move(acceptor),
                   [this] { actor_metrics_.connections_turned_away->Increment(); });
  watch_ = std::make_unique<LivenessWatch>(
      [this] {
        actor_metrics_.EstimateLearners(config_.stream().max_streams());
        return FindFault();
      },
      health_);
  return absl::OkStatus();
}

absl::Status Actor::Load(const ChooseCollector& choose, bool warm_up) {
  if (faults_.slow_start.count() > 0) {
    gate_.Enter("fault slow_start");
    std::this_thread::sleep_for(faults_.slow_start);
  }
  gate_.Enter("choosing the executor");
  VIXEN_ASSIGN_OR_RETURN(const kernels::CollectorFactory make, choose());
  VIXEN_ASSIGN_OR_RETURN(ActorSetup setup,
                         SetUpActor(config_, WithFaults(faults_, make), warm_up,
                                    [this](std::string phase) { gate_.Enter(std::move(phase)); }));
  setup.run.miscount = faults_.miscount;
  actor_metrics_.SetExecutor(setup.executor.executor, setup.executor.device);
  core_ = std::make_unique<ActorCore>(
      std::move(setup), actor_metrics_, faults_.forget_finish,
      [this](absl::Status status) { RequestStopWith(std::move(status)); },
      [this] { RequestStop(); });
  core_->loop.Expect(core_->setup.expected_launch);
  if (metrics_) metrics_->Add(std::make_shared<BalanceCollector>(core_->policies));
  WatchGpu();
  core_->loop.Start();
  gate_.Enter("started");
  gate_.Open(&core_->state);
  loaded_ = true;
  actor_metrics_.startup_seconds->Set(std::chrono::duration<double>(Clock::now() - began_).count());
  health_.Started();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Actor::Credentials(
    const v1::TlsSettings& tls) {
  if (tls.tls_certificate().empty()) return grpc::InsecureServerCredentials();
  VIXEN_ASSIGN_OR_RETURN(const transport::Certificates* certificates,
                         transport::Certificates::Open(tls));
  std::shared_ptr<grpc::ServerCredentials> credentials = certificates->ServerCredentials();
  if (!tls.tls_ca().empty()) credentials->SetAuthMetadataProcessor(std::make_shared<RoleCheck>());
  if (metrics_) metrics_->Add(std::make_shared<telemetry::TlsCollector>(*certificates));
  return credentials;
}

void Actor::WatchGpu() {
  const std::string& gpu = core_->setup.executor.pci_bus_id;
  if (gpu.empty()) return;
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(gpu);
  if (!nvml.ok()) {
    spdlog::warn("{}", nvml.status().ToString());
    return;
  }
  nvml_ = *std::move(nvml);
  if (metrics_) metrics_->Add(std::make_shared<GpuCollector>(nvml_, gpu));
}

// The watch's thread. Nothing of a load that goes on is a fault: it takes what it takes.
std::string Actor::FindFault() const {
  if (!loaded_) return "";
  const bool gone = faults_.gpu_lost && Clock::now() - began_ > *faults_.gpu_lost;
  if (gone || (nvml_ && nvml_->Read().lost)) {
    actor_metrics_.device_lost->Set(1);
    return "the GPU has fallen off the bus";
  }
  if (device_lost_) return "the executor's device is lost";
  const auto stuck =
      core_->loop.StuckFor(std::chrono::duration<double>(config_.launch_deadline_seconds()));
  return stuck ? absl::StrFormat("a launch has been under way for %.0f s", stuck->count()) : "";
}

void Actor::RequestStop() { RequestStopWith(absl::OkStatus()); }

void Actor::RequestStopWith(absl::Status status) {
  if (absl::IsDataLoss(status)) {
    device_lost_ = true;
    actor_metrics_.device_lost->Set(1);
    health_.SetFault(std::string(status.message()));
  }
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
  actor_metrics_.draining->Set(1);
  health_.Draining();
  if (core_) StopCore(deadline);
  Enter("ending the gRPC server");
  watch_.reset();
  if (listener_) listener_->Stop();
  if (!EndServer(deadline)) {
    spdlog::warn("a peer takes nothing any more: its connection is left to the system");
  }
  Enter("ending the threads");
  if (core_) {
    core_->staging.Stop();
    core_->encoding.Stop();
  }
  Enter("stopped");
}

void Actor::StopCore(Clock::time_point deadline) {
  core_->state.draining = true;
  Enter("telling the streams");
  core_->policies.StopAllCredit();
  core_->streams.DrainAll();
  Enter("waiting for the last launch");
  core_->loop.Stop();
  Enter("sending what is reserved");
  // A tenth of the time, at most a second, is kept for cutting off those that do not take it.
  const Clock::duration left = std::max(deadline - Clock::now(), Clock::duration::zero());
  const Clock::duration reserve = std::min<Clock::duration>(left / 10, std::chrono::seconds(1));
  if (!core_->streams.WaitUntilEmpty(deadline - reserve)) {
    spdlog::warn("cutting off streams that did not take what was reserved for them");
    core_->streams.AbortAll(absl::UnavailableError("the actor is stopping"));
  }
  LogBooks(core_->policies);
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
