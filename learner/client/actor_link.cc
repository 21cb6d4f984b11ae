// SPDX-License-Identifier: Apache-2.0
#include "learner/client/actor_link.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "learner/client/channel.h"
#include "proto/telemetry/log.h"

namespace vixen::learner {
namespace {

constexpr std::chrono::milliseconds kInfoDeadline{5000};

}  // namespace

ActorLink::ActorLink(LinkOptions options, std::shared_ptr<grpc::Channel> channel,
                     const RunBook& book, EventQueue& events)
    : options_(std::move(options)),
      channel_(std::move(channel)),
      stub_(v1::Actor::NewStub(channel_)),
      book_(book),
      events_(events) {}

ActorLink::~ActorLink() { Stop(); }

void ActorLink::Start() {
  thread_ = std::thread([this] {
    Run();
    ended_.Set();
  });
}

void ActorLink::Run() {
  Backoff backoff;
  bool name_taken = false;
  std::chrono::steady_clock::time_point name_taken_since;
  while (!stop_.stopped()) {
    received_batch_ = false;
    const uint64_t before = session_;
    absl::Status status = Session();
    if (session_ != before) events_.Push(StreamEnded{options_.actor, session_, status});
    if (stop_.stopped()) return;
    if (!status.ok() && !IsTransient(status)) {
      events_.Push(ClientFailed{std::move(status)});
      return;
    }
    if (received_batch_) backoff.Reset();
    const auto now = std::chrono::steady_clock::now();
    if (status.code() != absl::StatusCode::kAlreadyExists) {
      name_taken = false;
    } else if (!std::exchange(name_taken, true)) {
      name_taken_since = now;
    } else if (now - name_taken_since >= options_.name_taken_wait) {
      events_.Push(ClientFailed{absl::AlreadyExistsError(absl::StrCat(
          status.message(), ": another learner is consumer \"", options_.consumer, "\" of group \"",
          options_.group, "\"; start each with its own --consumer"))});
      return;
    }
    spdlog::warn("actor {}: stream ended ({}); connecting again{}", options_.address,
                 status.ok() ? "OK" : status.ToString(), Who());
    if (!backoff.Wait(stop_)) return;
  }
}

std::string ActorLink::Who() const {
  return telemetry::Fields({{"policy", options_.policy},
                            {"group", options_.group},
                            {"consumer", options_.consumer},
                            {"actor", options_.address}});
}

absl::Status ActorLink::Session() {
  v1::GetInfoResponse info;
  VIXEN_RETURN_IF_ERROR(ReadInfo(info));
  VIXEN_RETURN_IF_ERROR(options_.check(info));

  grpc::ClientContext context;
  if (!SetContext(&context)) return absl::CancelledError("stopping");
  Stream stream(*channel_, context);
  absl::Status read = ReadAll(stream, info);
  {
    std::lock_guard lock(mutex_);
    stream_ = nullptr;
    opening_ = false;
    said_while_opening_.clear();
  }
  if (!read.ok()) context.TryCancel();
  const grpc::Status finished = stream.Finish();
  SetContext(nullptr);
  if (!read.ok()) return read;
  return FromGrpc(finished, absl::StrCat("actor ", options_.address, ": Collect"));
}

bool ActorLink::SetContext(grpc::ClientContext* context) {
  std::lock_guard lock(mutex_);
  if (context != nullptr && stop_.stopped()) return false;
  context_ = context;
  return true;
}

// Waits for the connection, so that an actor that comes back is asked at once and not when the next
// attempt is due.
absl::Status ActorLink::ReadInfo(v1::GetInfoResponse& info) {
  grpc::ClientContext context;
  SetDeadline(context, kInfoDeadline);
  context.set_wait_for_ready(true);
  if (!SetContext(&context)) return absl::CancelledError("stopping");
  const grpc::Status status = stub_->GetInfo(&context, v1::GetInfoRequest(), &info);
  SetContext(nullptr);
  return FromGrpc(status, absl::StrCat("actor ", options_.address, ": GetInfo"));
}

// OK when the stream ended by itself: Finish() knows why.
absl::Status ActorLink::ReadAll(Stream& stream, const v1::GetInfoResponse& info) {
  v1::CollectRequest request;
  v1::Open& open = *request.mutable_open();
  open.set_policy(options_.policy);
  open.set_group(options_.group);
  open.set_consumer(options_.consumer);
  open.mutable_encoding();
  open.set_dataset_fingerprint(options_.dataset_fingerprint);
  {
    std::lock_guard lock(mutex_);
    opening_ = true;  // what is said from here on may be missing in what `open` lists
  }
  if (v1::RunRanges held = book_.Held(info.run_id()); held.ranges_size() > 0) {
    *open.add_held() = std::move(held);
  }
  if (v1::RunRanges durable = book_.Durable(info.run_id()); durable.ranges_size() > 0) {
    *open.add_durable() = std::move(durable);
  }
  if (!stream.Write(request)) return absl::OkStatus();

  grpc::ByteBuffer message;
  v1::CollectResponse response;
  if (!stream.Read(message)) return absl::OkStatus();
  VIXEN_RETURN_IF_ERROR(transport::Parse(message, response));
  if (!response.has_opened()) {
    return absl::InvalidArgumentError(
        absl::StrCat("actor ", options_.address, ": the stream's first message is not `opened`"));
  }
  const v1::Opened opened = response.opened();
  absl::StatusOr<codec::BatchDecoder> decoder =
      codec::BatchDecoder::Create(opened, open.encoding());
  if (!decoder.ok()) return decoder.status();
  ++session_;
  {
    std::lock_guard lock(mutex_);
    if (stop_.stopped()) return absl::CancelledError("stopping");
    stream_ = &stream;
    stream_number_ = session_;
    run_id_ = opened.run_id();
    opening_ = false;
    for (const auto& [run_id, message] : std::exchange(said_while_opening_, {})) {
      if (run_id == run_id_) Write(message);
    }
  }
  if (!events_.Push(StreamOpened{options_.actor, session_, info, opened})) {
    return absl::CancelledError("stopping");
  }
  while (stream.Read(message)) {
    absl::StatusOr<std::optional<codec::DecodedBatch>> decoded =
        transport::AddTo(*decoder, message, response);
    if (response.has_notice()) {
      spdlog::info("actor {}: {}{}", options_.address, response.notice().text(), Who());
    }
    if (!decoded.ok()) {
      return absl::Status(decoded.status().code(), absl::StrCat("actor ", options_.address, ": ",
                                                                decoded.status().message()));
    }
    if (!decoded->has_value()) continue;
    received_batch_ = true;
    if (!events_.Push(BatchArrived{options_.actor, session_, *std::move(*decoded)})) {
      return absl::CancelledError("stopping");
    }
  }
  return absl::OkStatus();
}

bool ActorLink::Write(const v1::CollectRequest& request) {
  return stream_ != nullptr && stream_->Write(request);
}

bool ActorLink::SendCredit(uint64_t stream, int64_t launches) {
  v1::CollectRequest request;
  request.mutable_credit()->set_n(launches);
  std::lock_guard lock(mutex_);
  return stream_number_ == stream && Write(request);
}

void ActorLink::SendAcknowledge(uint64_t run_id, uint64_t sequence) {
  v1::CollectRequest request;
  request.mutable_ack()->set_run_id(run_id);
  request.mutable_ack()->set_sequence(sequence);
  SendOfRun(run_id, std::move(request));
}

void ActorLink::SendDurable(const v1::RunRanges& ranges) {
  v1::CollectRequest request;
  *request.mutable_durable()->mutable_ranges() = ranges;
  SendOfRun(ranges.run_id(), std::move(request));
}

void ActorLink::SendOfRun(uint64_t run_id, v1::CollectRequest request) {
  std::lock_guard lock(mutex_);
  if (opening_) {
    said_while_opening_.emplace_back(run_id, std::move(request));
  } else if (run_id_ == run_id) {
    Write(request);
  }
}

void ActorLink::HalfClose() {
  stop_.Set();
  std::lock_guard lock(mutex_);
  if (stream_ != nullptr) {
    stream_->WritesDone();
    stream_ = nullptr;
  } else if (context_ != nullptr) {
    context_->TryCancel();
  }
}

bool ActorLink::WaitEnded(std::chrono::milliseconds most) {
  return !thread_.joinable() || ended_.WaitFor(most);
}

void ActorLink::Stop() {
  stop_.Set();
  {
    std::lock_guard lock(mutex_);
    stream_ = nullptr;
    if (context_ != nullptr) context_->TryCancel();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace vixen::learner
