// SPDX-License-Identifier: Apache-2.0
#include "server/service/actor_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/str_cat.h"
#include "proto/telemetry/log.h"
#include "server/service/byte_stream.h"
#include "server/service/collect_stream.h"
#include "server/service/collect_streams.h"
#include "server/service/dataset_file.h"
#include "server/service/status.h"

namespace vixen::server {
namespace {

constexpr uint64_t kDatasetChunkBytes = 1 << 20;

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

// A Collect call that comes before there is anything to collect.
class RefusedCollect final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedCollect(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

void SetAmount(const Tally& tally, v1::Amount& amount) {
  amount.set_batches(tally.batches);
  amount.set_rows(tally.rows);
}

void FillPolicy(const Policy& policy, bool draining, v1::PolicyInfo& info) {
  info.set_policy(policy.name);
  info.set_online_version(policy.weights.LiveVersion(kernels::WeightsKind::kOnline));
  info.set_target_version(policy.weights.LiveVersion(kernels::WeightsKind::kTarget));
  info.set_curiosity_version(policy.weights.LiveVersion(kernels::WeightsKind::kCuriosity));
  info.set_epsilon(policy.weights.epsilon());
  info.set_launches(policy.launches);
  info.set_batches(policy.delivery.next_sequence());
  info.set_run_seed(policy.run_seed);
  info.set_waiting_for(draining ? "nothing: draining" : policy.WaitingFor());
}

absl::StatusOr<uint64_t> CheckDatasetRequest(const ActorState& state,
                                             const v1::GetDatasetRequest& request) {
  const base::Sha256Digest& own = state.run.dataset_fingerprint;
  if (!request.fingerprint().empty() &&
      request.fingerprint() != std::string(own.begin(), own.end())) {
    const auto* asked = reinterpret_cast<const uint8_t*>(request.fingerprint().data());
    return absl::FailedPreconditionError(
        base::StrCat("dataset fingerprint ", base::ToHex({asked, request.fingerprint().size()}),
                     " was asked for, this actor's dataset has ", base::ToHex(own)));
  }
  if (request.offset() > state.dataset_file.size()) {
    return absl::OutOfRangeError(base::StrCat("offset ", request.offset(),
                                              " is beyond the dataset file's ",
                                              state.dataset_file.size(), " bytes"));
  }
  return request.offset();
}

}  // namespace

v1::GetBalanceResponse BalanceOf(const ActorState& state, const std::string& policy_name,
                                 const std::string& group_name) {
  v1::GetBalanceResponse response;
  for (const std::shared_ptr<Policy>& policy : state.policies.All()) {
    if (!policy_name.empty() && policy->name != policy_name) continue;
    for (const Sheet& sheet : policy->delivery.Sheets()) {
      if (!group_name.empty() && sheet.group != group_name) continue;
      v1::BalanceSheet& message = *response.add_sheets();
      message.set_run_id(state.run.run_id);
      message.set_policy(policy->name);
      message.set_group(sheet.group);
      SetAmount(sheet.offered, *message.mutable_offered());
      SetAmount(sheet.durable, *message.mutable_durable());
      SetAmount(sheet.acknowledged, *message.mutable_acknowledged());
      SetAmount(sheet.in_flight, *message.mutable_in_flight());
      SetAmount(sheet.retained, *message.mutable_retained());
      SetAmount(sheet.not_offered, *message.mutable_not_offered());
      SetAmount(sheet.dropped_overflow, (*message.mutable_dropped())["retained_overflow"]);
      SetAmount(sheet.dropped_lost, (*message.mutable_dropped())["lost_with_consumer"]);
      SetAmount(sheet.dropped_slow, (*message.mutable_dropped())["slow_consumer"]);
    }
  }
  return response;
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ActorService::Collect(
    grpc::CallbackServerContext* context) {
  ActorState* const state = gate_.state();
  if (state == nullptr) return new RefusedCollect(gate_.NotYet());
  if (state->run.limits.compression() == v1::COMPRESSION_GZIP) {
    context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
  }
  auto stream = std::make_shared<CollectStream>(*state, context);
  stream->Keep(stream);
  CollectStream* reactor = stream.get();
  const absl::Status refused = state->draining ? absl::UnavailableError("the actor is draining")
                                               : state->streams.Add(stream);
  reactor->Begin(refused);
  return reactor;
}

grpc::ServerUnaryReactor* ActorService::GetInfo(grpc::CallbackServerContext* context,
                                                const v1::GetInfoRequest* /*request*/,
                                                v1::GetInfoResponse* response) {
  const ActorState* const state = gate_.state();
  if (state == nullptr) return Answer(context, gate_.NotYet());
  *response = state->info;
  response->set_draining(state->draining);
  response->set_uptime_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - state->started).count());
  for (const std::shared_ptr<Policy>& policy : state->policies.All()) {
    FillPolicy(*policy, state->draining, *response->add_policies());
  }
  return Answer(context, absl::OkStatus());
}

grpc::ServerWriteReactor<v1::GetDatasetResponse>* ActorService::GetDataset(
    grpc::CallbackServerContext* /*context*/, const v1::GetDatasetRequest* request) {
  const ActorState* const state = gate_.state();
  const absl::StatusOr<uint64_t> start = state == nullptr ? absl::StatusOr<uint64_t>(gate_.NotYet())
                                                          : CheckDatasetRequest(*state, *request);
  return ByteStream<v1::GetDatasetResponse>::Start(
      [state, start, offset = start.value_or(0)](
          v1::GetDatasetResponse& response) mutable -> absl::StatusOr<bool> {
        if (!start.ok()) return start.status();
        const uint64_t total = state->dataset_file.size();
        if (offset == total) return false;
        auto bytes = state->dataset_file.Read(offset, std::min(kDatasetChunkBytes, total - offset));
        if (!bytes.ok()) return bytes.status();
        response.set_offset(offset);
        response.set_total_bytes(total);
        offset += bytes->size();
        response.set_data(*std::move(bytes));
        return true;
      });
}

grpc::ServerUnaryReactor* ActorService::GetBalance(grpc::CallbackServerContext* context,
                                                   const v1::GetBalanceRequest* request,
                                                   v1::GetBalanceResponse* response) {
  const ActorState* const state = gate_.state();
  if (state == nullptr) return Answer(context, gate_.NotYet());
  *response = BalanceOf(*state, request->policy(), request->group());
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* AdminService::SetLogLevel(grpc::CallbackServerContext* context,
                                                    const v1::SetLogLevelRequest* request,
                                                    v1::SetLogLevelResponse* response) {
  const std::string previous = telemetry::LogLevel();
  const absl::Status status = telemetry::SetLogLevel(request->level());
  if (status.ok()) response->set_previous(previous);
  return Answer(context, status);
}

grpc::ServerUnaryReactor* AdminService::Drain(grpc::CallbackServerContext* context,
                                              const v1::DrainRequest* /*request*/,
                                              v1::DrainResponse* /*response*/) {
  const ActorState* const state = gate_.state();
  if (state == nullptr) return Answer(context, gate_.NotYet());
  spdlog::info("drain was asked for by {}", context->peer());
  state->request_drain();
  return Answer(context, absl::OkStatus());
}

}  // namespace vixen::server
