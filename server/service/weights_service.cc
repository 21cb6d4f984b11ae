// SPDX-License-Identifier: Apache-2.0
#include "server/service/weights_service.h"

#include <grpcpp/alarm.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/str_cat.h"
#include "proto/codec/convert.h"
#include "server/service/actor_state.h"
#include "server/service/byte_stream.h"
#include "server/service/status.h"
#include "server/service/stream_machine.h"
#include "server/weights/weights_intake.h"

namespace vixen::server {
namespace {

class PushStream final : public StreamMachine<grpc::ServerReadReactor<v1::PushWeightsRequest>>,
                         public std::enable_shared_from_this<PushStream> {
 public:
  PushStream(ActorState& state, v1::PushWeightsResponse* response)
      : state_(state), response_(response), upload_(state.intake) {}

  // The upload has to be complete `deadline` from now: what is gathered takes memory.
  void Begin(std::chrono::duration<double> deadline) {
    const auto end = std::chrono::system_clock::now() +
                     std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline);
    alarm_.Set(end, [weak = weak_from_this()](bool expired) {
      const std::shared_ptr<PushStream> stream = weak.lock();
      if (expired && stream) stream->Expire();
    });
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      if (ended()) return;
      complete_ = !ok;
    }
    if (!ok) return Stage();
    const absl::Status added = upload_.Add(request_);
    if (!added.ok()) return Refuse(added);
    StartRead(&request_);
  }

 private:
  void Stage() {
    const absl::Status complete = upload_.CheckComplete();
    if (!complete.ok()) return Refuse(complete);
    const bool posted = state_.staging.Post([stream = shared_from_this()] { stream->Apply(); });
    if (!posted) Refuse(absl::ResourceExhaustedError("too many weights pushes wait; try again"));
  }

  void Expire() {
    {
      std::lock_guard lock(mutex_);
      if (complete_) return;
    }
    Refuse(
        absl::DeadlineExceededError("the upload was not complete after progress_deadline_seconds"));
  }

  void Apply() {
    absl::StatusOr<v1::PushWeightsResponse> applied = upload_.Apply();
    if (!applied.ok()) return Refuse(applied.status());
    state_.notify_collector();
    std::lock_guard lock(mutex_);
    if (finished()) return;
    *response_ = *std::move(applied);
    EndLocked(grpc::Status::OK);
  }

  void Refuse(const absl::Status& status) {
    {
      std::lock_guard lock(mutex_);
      if (ended()) return;
      EndLocked(ToGrpc(status));
    }
    state_.intake.CountRefusal(status);
    spdlog::warn("weights: a push was refused: {}", status.ToString());
  }

  ActorState& state_;
  v1::PushWeightsResponse* const response_;
  v1::PushWeightsRequest request_;
  WeightsUpload upload_;
  bool complete_ = false;
  grpc::Alarm alarm_;
};

// A push that comes before there is an executor.
class RefusedPush final : public grpc::ServerReadReactor<v1::PushWeightsRequest> {
 public:
  explicit RefusedPush(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerReadReactor<v1::PushWeightsRequest>* WeightsService::PushWeights(
    grpc::CallbackServerContext* /*context*/, v1::PushWeightsResponse* response) {
  ActorState* const state = gate_.state();
  if (state == nullptr) return new RefusedPush(gate_.NotYet());
  auto stream = std::make_shared<PushStream>(*state, response);
  stream->Keep(stream);
  PushStream* reactor = stream.get();
  reactor->Begin(std::chrono::duration<double>(state->run.limits.progress_deadline_seconds()));
  return reactor;
}

grpc::ServerWriteReactor<v1::GetWeightsResponse>* WeightsService::GetWeights(
    grpc::CallbackServerContext* /*context*/, const v1::GetWeightsRequest* request) {
  absl::StatusOr<LiveWeights> found =
      absl::NotFoundError(base::StrCat("policy \"", request->policy(), "\" has no ",
                                       v1::WeightsKind_Name(request->kind()), " weights here"));
  const ActorState* const state = gate_.state();
  if (state == nullptr) {
    found = gate_.NotYet();
  } else if (const auto kind = codec::FromProto(request->kind()); !kind.ok()) {
    found = kind.status();
  } else if (const auto policy = state->policies.Find(request->policy())) {
    if (auto live = policy->weights.Live(*kind)) found = *std::move(live);
  }
  return ByteStream<v1::GetWeightsResponse>::Start(
      [found, offset = size_t{0},
       header_sent = false](v1::GetWeightsResponse& response) mutable -> absl::StatusOr<bool> {
        if (!found.ok()) return found.status();
        if (!std::exchange(header_sent, true)) {
          *response.mutable_header() = found->header;
          return true;
        }
        const std::string& image = *found->image;
        if (offset == image.size()) return false;
        const size_t size = std::min<size_t>(kMostWeightsChunkBytes, image.size() - offset);
        response.set_chunk(image.substr(offset, size));
        offset += size;
        return true;
      });
}

}  // namespace vixen::server
