// SPDX-License-Identifier: Apache-2.0
#include "server/service/collect_stream.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/telemetry/log.h"
#include "server/service/collect_messages.h"
#include "server/service/status.h"

namespace vixen::server {

void CollectStream::Begin(const absl::Status& refused) {
  if (!refused.ok()) return End(ToGrpc(refused));
  StartRead(&request_);
}

void CollectStream::OnReadDone(bool ok) {
  if (!ok) return HalfClose();
  absl::StatusOr<v1::CollectRequest> request = ParseCollectRequest(request_);
  const absl::Status status = request.ok() ? Handle(*request) : request.status();
  if (!status.ok()) return Fail(status);
  StartRead(&request_);
}

absl::Status CollectStream::Handle(const v1::CollectRequest& request) {
  const auto& [policy, id] = session();
  const v1::CollectRequest::PartCase part = request.part_case();
  if (part == v1::CollectRequest::PART_NOT_SET) {
    return absl::InvalidArgumentError("an empty or unknown message came");
  }
  if (part == v1::CollectRequest::kOpen) {
    if (id != 0) return absl::InvalidArgumentError("a second `open` came");
    return HandleOpen(request.open());
  }
  if (id == 0) return absl::InvalidArgumentError("a message came before `open`");
  if (part == v1::CollectRequest::kAck) {
    return policy->delivery.Acknowledge(id, request.ack().run_id(), request.ack().sequence());
  }
  if (part == v1::CollectRequest::kDurable) {
    const v1::RunRanges& ranges = request.durable().ranges();
    return policy->delivery.MarkDurable(id, ranges.run_id(), RangesOf(ranges));
  }
  VIXEN_RETURN_IF_ERROR(policy->delivery.AddCredit(id, request.credit().n()));
  SayWhatIsMissing(policy->weights.Missing());
  return absl::OkStatus();
}

void CollectStream::SayWhatIsMissing(const std::string& weights) {
  {
    std::lock_guard lock(mutex_);
    if (weights.empty() || std::exchange(weights_notice_sent_, true)) return;
    messages_.push_back(NoticeOf(v1::Notice::KIND_WAITING_FOR_WEIGHTS,
                                 base::StrCat("waiting for weights: ", weights)));
  }
  Pump();
}

absl::Status CollectStream::HandleOpen(const v1::Open& open) {
  const Run& run = state_.run;
  VIXEN_RETURN_IF_ERROR(CheckOpen(open, run));
  VIXEN_ASSIGN_OR_RETURN(
      codec::ColumnLayout layout,
      codec::ColumnLayout::Of(open.encoding(), run.collector.architecture.state()));
  if (state_.draining) return DrainingStatus();
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<Policy> policy, state_.policies.FindOrAdd(open.policy()));
  ConsumerOptions options{.group = open.group(),
                          .consumer = open.consumer(),
                          .held = RangesOf(open.held(), run.run_id),
                          .durable = RangesOf(open.durable(), run.run_id)};
  options.wake = [weak = weak_from_this()] {
    if (const std::shared_ptr<CollectStream> stream = weak.lock()) stream->Wake();
  };
  VIXEN_ASSIGN_OR_RETURN(const OpenedStream opened, policy->delivery.Open(std::move(options)));
  std::string who = telemetry::Fields({{"policy", open.policy()},
                                       {"group", open.group()},
                                       {"consumer", open.consumer()},
                                       {"run_id", telemetry::RunIdText(run.run_id)}});
  spdlog::info("collect: {} of group {} takes policy {} from sequence {} on{}{}", open.consumer(),
               open.group(), open.policy(), opened.next_sequence, who,
               telemetry::Fields({{"sequence", std::to_string(opened.next_sequence)}}));
  {
    std::lock_guard lock(mutex_);
    who_ = std::move(who);
    policy_ = std::move(policy);
    layout_ = std::move(layout);
    id_ = opened.id;
    open_ = true;
    messages_.push_back(OpenedMessage(run, *layout_, opened));
  }
  Pump();
  return absl::OkStatus();
}

void CollectStream::HalfClose() {
  const auto& [policy, id] = session();
  if (id == 0) {
    return Fail(absl::InvalidArgumentError("the stream was half-closed before `open`"));
  }
  policy->delivery.StopCredit(id);
  {
    std::lock_guard lock(mutex_);
    half_closed_ = true;
  }
  Pump();
}

void CollectStream::Wake() { Pump(); }

void CollectStream::Pump() {
  std::optional<grpc::Status> goodbye;
  {
    std::lock_guard lock(mutex_);
    goodbye = PumpLocked();
    leaving_ = leaving_ || goodbye.has_value();
  }
  if (goodbye) Leave(*std::move(goodbye));
}

void CollectStream::SendLocked(const v1::CollectResponse& response) {
  response_ = ToByteBuffer(response);
  WriteLocked(&response_);
}

std::optional<grpc::Status> CollectStream::PumpLocked() {
  if (!open_ || leaving_ || encoding_ || !MayWriteLocked()) return std::nullopt;
  if (sending_) {
    SendNextPartLocked();
  } else if (!messages_.empty()) {
    SendLocked(messages_.front());
    messages_.pop_front();
  } else if (const std::optional<Outgoing> next = policy_->delivery.Take(id_)) {
    StartBatchLocked(*next);
  } else if ((half_closed_ || drain_) && policy_->delivery.Idle(id_)) {
    return half_closed_ ? grpc::Status::OK : ToGrpc(DrainingStatus());
  }
  return std::nullopt;
}

void CollectStream::StartBatchLocked(const Outgoing& outgoing) {
  if (NeedsCopy(layout_->encoding())) {
    encoding_ = true;
    const bool posted = state_.encoding.Post([stream = shared_from_this(), outgoing] {
      const Clock::time_point start = Clock::now();
      const auto encoded = stream->Encode(outgoing);
      stream->state_.metrics.Spent(Activity::kCopying,
                                   std::chrono::duration<double>(Clock::now() - start).count());
      std::lock_guard lock(stream->mutex_);
      stream->encoding_ = false;
      if (stream->MayWriteLocked()) stream->SendBatchLocked(outgoing.delivery, encoded);
    });
    if (posted) return;
    encoding_ = false;
  }
  SendBatchLocked(outgoing.delivery, Encode(outgoing));
}

absl::StatusOr<std::shared_ptr<const EncodedOutgoing>> CollectStream::Encode(
    const Outgoing& outgoing) const {
  return EncodeOutgoing(outgoing, *layout_, state_.run.collector.market);
}

void CollectStream::SendBatchLocked(
    uint32_t delivery, const absl::StatusOr<std::shared_ptr<const EncodedOutgoing>>& encoded) {
  if (!encoded.ok()) return EndLocked(ToGrpc(absl::InternalError(encoded.status().message())));
  sending_.emplace(*encoded, delivery, state_.run.limits.chunk_bytes());
  SendNextPartLocked();
}

void CollectStream::SendNextPartLocked() {
  response_ = sending_->Next();
  state_.metrics.sent_bytes->Increment(static_cast<double>(sending_->last_bytes()));
  if (sending_->done()) {
    sending_.reset();
    state_.metrics.sent_batches->Increment();
  }
  WriteLocked(&response_);
}

void CollectStream::CountWriteLocked() const {
  if (!writing_since()) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - *writing_since()).count();
  state_.metrics.write_seconds->Observe(seconds);
  state_.metrics.Spent(Activity::kSending, seconds);
}

void CollectStream::OnWriteDone(bool ok) {
  {
    std::lock_guard lock(mutex_);
    CountWriteLocked();
    if (!WriteDoneLocked(ok)) return;
  }
  Pump();
}

CollectStream::Session CollectStream::session() {
  std::lock_guard lock(mutex_);
  return {policy_, id_};
}

std::string CollectStream::who() {
  std::lock_guard lock(mutex_);
  return who_;
}

}  // namespace vixen::server
