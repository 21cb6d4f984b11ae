// SPDX-License-Identifier: Apache-2.0
#include "server/service/collect_stream.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/codec/convert.h"
#include "proto/telemetry/log.h"
#include "server/service/collect_streams.h"
#include "server/service/status.h"

namespace vixen::server {
namespace {

std::vector<SequenceRange> RangesOf(const v1::RunRanges& run) {
  std::vector<SequenceRange> ranges;
  for (const v1::SequenceRange& range : run.ranges()) {
    ranges.push_back({range.first(), range.last()});
  }
  return ranges;
}

// Ranges of other runs speak of what this actor never had.
std::vector<SequenceRange> RangesOf(const google::protobuf::RepeatedPtrField<v1::RunRanges>& runs,
                                    uint64_t run_id) {
  std::vector<SequenceRange> ranges;
  for (const v1::RunRanges& run : runs) {
    if (run.run_id() != run_id) continue;
    const std::vector<SequenceRange> more = RangesOf(run);
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  return ranges;
}

absl::Status DrainingStatus() {
  return absl::UnavailableError("the actor is draining; reconnect elsewhere or later");
}

v1::CollectResponse NoticeOf(v1::Notice::Kind kind, std::string text) {
  v1::CollectResponse response;
  response.mutable_notice()->set_kind(kind);
  response.mutable_notice()->set_text(std::move(text));
  return response;
}

std::string Hex(const std::string& bytes) {
  return base::ToHex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

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
  VIXEN_RETURN_IF_ERROR(CheckName("open.policy", open.policy()));
  VIXEN_RETURN_IF_ERROR(CheckName("open.group", open.group()));
  VIXEN_RETURN_IF_ERROR(CheckName("open.consumer", open.consumer()));
  const Run& run = state_.run;
  const std::string own(run.dataset_fingerprint.begin(), run.dataset_fingerprint.end());
  if (!open.dataset_fingerprint().empty() && open.dataset_fingerprint() != own) {
    return absl::FailedPreconditionError(base::StrCat("open.dataset_fingerprint is ",
                                                      Hex(open.dataset_fingerprint()),
                                                      ", this actor's dataset has ", Hex(own)));
  }
  if (open.encoding().slot_states() && !run.collector.settings.carry_over) {
    return absl::InvalidArgumentError("encoding.slot_states needs an actor with carry_over");
  }
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
    messages_.push_back(OpenedMessage(opened));
  }
  Pump();
  return absl::OkStatus();
}

v1::CollectResponse CollectStream::OpenedMessage(const OpenedStream& stream) const {
  const Run& run = state_.run;
  v1::CollectResponse response;
  v1::Opened& opened = *response.mutable_opened();
  opened.set_run_id(run.run_id);
  opened.set_episodes(run.collector.episodes);
  opened.set_steps(run.collector.steps);
  *opened.mutable_architecture() = codec::ToProto(run.collector.architecture);
  *opened.mutable_columns() = layout_->ToProto();
  opened.set_dataset_fingerprint(
      std::string(run.dataset_fingerprint.begin(), run.dataset_fingerprint.end()));
  opened.set_scaler_fingerprint(
      std::string(run.scaler_fingerprint.begin(), run.scaler_fingerprint.end()));
  opened.set_next_sequence(stream.next_sequence);
  opened.mutable_lost_with_consumer()->set_batches(stream.lost.batches);
  opened.mutable_lost_with_consumer()->set_rows(stream.lost.rows);
  opened.set_settings(run.settings);
  opened.set_chunk_bytes(run.limits.chunk_bytes());
  opened.set_max_credit(run.limits.max_credit());
  return response;
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

// Left before the client hears of the end: it may come back under the same name at once.
void CollectStream::Leave(grpc::Status status) {
  Detach();
  End(std::move(status));
}

void CollectStream::SendLocked(const v1::CollectResponse& response) {
  response_ = ToByteBuffer(response);
  WriteLocked(&response_);
}

std::optional<grpc::Status> CollectStream::PumpLocked() {
  if (!open_ || leaving_ || encoding_ || !MayWriteLocked()) return std::nullopt;
  if (outgoing_) {
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

bool CollectStream::NeedsCopy() const {
  const v1::Encoding& encoding = layout_->encoding();
  return encoding.state() || encoding.fp16() || encoding.slot_states();
}

absl::StatusOr<std::shared_ptr<const EncodedOutgoing>> CollectStream::Encode(
    const Outgoing& outgoing) const {
  auto encoded = std::make_shared<EncodedOutgoing>();
  encoded->batch = outgoing.batch;
  VIXEN_ASSIGN_OR_RETURN(encoded->encoded, codec::EncodeBatch(outgoing.batch->batch, *layout_,
                                                              state_.run.collector.market));
  return encoded;
}

void CollectStream::StartBatchLocked(const Outgoing& outgoing) {
  if (NeedsCopy()) {
    encoding_ = true;
    const bool posted = state_.encoding.Post([stream = shared_from_this(), outgoing] {
      const Clock::time_point start = Clock::now();
      const auto encoded = stream->Encode(outgoing);
      stream->state_.metrics.Spent(Activity::kCopying,
                                   std::chrono::duration<double>(Clock::now() - start).count());
      std::lock_guard lock(stream->mutex_);
      stream->encoding_ = false;
      if (stream->MayWriteLocked()) stream->SendHeaderLocked(outgoing, encoded);
    });
    if (posted) return;
    encoding_ = false;
  }
  SendHeaderLocked(outgoing, Encode(outgoing));
}

void CollectStream::SendHeaderLocked(
    const Outgoing& outgoing,
    const absl::StatusOr<std::shared_ptr<const EncodedOutgoing>>& encoded) {
  if (!encoded.ok()) return EndLocked(ToGrpc(absl::InternalError(encoded.status().message())));
  outgoing_ = *encoded;
  sent_bytes_ = 0;
  crc32c_ = 0;
  v1::CollectResponse response;
  *response.mutable_header() = outgoing.batch->header;
  response.mutable_header()->set_delivery(outgoing.delivery);
  response.mutable_header()->set_payload_bytes(outgoing_->encoded.payload_bytes);
  SendLocked(response);
}

void CollectStream::SendNextPartLocked() {
  const codec::EncodedBatch& encoded = outgoing_->encoded;
  if (sent_bytes_ < encoded.payload_bytes) {
    const uint64_t size =
        std::min<uint64_t>(state_.run.limits.chunk_bytes(), encoded.payload_bytes - sent_bytes_);
    const std::vector<std::span<const std::byte>> parts = encoded.Range(sent_bytes_, size);
    // Now, as the bytes are sent: they are in the cache then.
    for (const std::span<const std::byte> part : parts) crc32c_ = base::ExtendCrc32c(crc32c_, part);
    response_ = ChunkToByteBuffer(outgoing_, sent_bytes_, size, parts);
    sent_bytes_ += size;
    state_.metrics.sent_bytes->Increment(static_cast<double>(size));
    return WriteLocked(&response_);
  }
  v1::CollectResponse response;
  response.mutable_trailer()->set_crc32c(crc32c_);
  *response.mutable_trailer()->mutable_statistics() =
      codec::ToProto(outgoing_->batch->batch.statistics);
  outgoing_.reset();
  state_.metrics.sent_batches->Increment();
  SendLocked(response);
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

void CollectStream::Fail(const absl::Status& status) {
  spdlog::warn("collect: a stream ends with {}{}", status.ToString(), who());
  Leave(ToGrpc(status));
}

void CollectStream::OnCancel() { Leave(grpc::Status::CANCELLED); }

CollectStream::Session CollectStream::session() {
  std::lock_guard lock(mutex_);
  return {policy_, id_};
}

std::string CollectStream::who() {
  std::lock_guard lock(mutex_);
  return who_;
}

void CollectStream::Detach() {
  const Session session = this->session();
  if (session.id != 0) session.policy->delivery.Close(session.id);
  state_.streams.Leave(this);
}

void CollectStream::AtDone() {
  Detach();
  {
    std::lock_guard lock(mutex_);
    done_ = true;
    const grpc::StatusCode code = ending() ? ending()->error_code() : grpc::StatusCode::CANCELLED;
    state_.metrics.streams_closed[static_cast<size_t>(code) % kStatusCodes]->Increment();
  }
  // Last: who drains goes on when no stream is left.
  state_.streams.Remove(this);
}

v1::CollectResponse CollectStream::DrainingNoticeLocked() const {
  const uint64_t next = policy_->delivery.next_sequence();
  v1::CollectResponse response = NoticeOf(
      v1::Notice::KIND_DRAINING,
      base::StrCat("no new launches; the stream ends after what was reserved; run ",
                   state_.run.run_id, " of policy ", policy_->name, " stands at sequence ", next));
  response.mutable_notice()->set_run_id(state_.run.run_id);
  response.mutable_notice()->set_next_sequence(next);
  return response;
}

void CollectStream::Drain() {
  bool opened;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(drain_, true)) return;
    opened = open_;
    if (opened) messages_.push_back(DrainingNoticeLocked());
  }
  if (!opened) return Leave(ToGrpc(DrainingStatus()));
  Pump();
}

void CollectStream::Abort(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  EndNowLocked(ToGrpc(status));
  if (!done_) context_->TryCancel();
}

void CollectStream::CheckProgress(Clock::time_point now, Clock::duration deadline) {
  bool stuck;
  {
    std::lock_guard lock(mutex_);
    if (evicted_at_) {
      if (now - *evicted_at_ > deadline && !done_) context_->TryCancel();
      return;
    }
    stuck = writing_since() && now - *writing_since() > deadline;
    const bool silent = !open_ && !ended() && now - began_ > deadline;
    if (!stuck && !silent && !finished()) return;
    evicted_at_ = now;
    // Ended already: from now on it is only watched whether the peer takes the status.
    if (finished()) return;
    leaving_ = true;
  }
  state_.metrics.streams_evicted->Increment();
  spdlog::warn("collect: a stream made no progress and is evicted{}", who());
  Detach();
  std::lock_guard lock(mutex_);
  EndNowLocked(ToGrpc(absl::DeadlineExceededError(
      stuck ? "the consumer took nothing for progress_deadline_seconds"
            : "the consumer sent no `open` for progress_deadline_seconds")));
}

}  // namespace vixen::server
