// SPDX-License-Identifier: Apache-2.0
#include "learner/weights/weights_pusher.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "learner/client/channel.h"
#include "learner/weights/probe.h"
#include "proto/codec/convert.h"

namespace vixen::learner {
namespace {

constexpr size_t kChunk = 1 << 20;
constexpr std::chrono::milliseconds kPushDeadline{30'000};
constexpr std::chrono::milliseconds kInfoDeadline{5'000};

std::string Raw(const base::Sha256Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace

WeightsPusher::WeightsPusher(PusherOptions options, std::shared_ptr<grpc::Channel> channel,
                             EventQueue& events)
    : options_(std::move(options)),
      weights_(v1::Weights::NewStub(channel)),
      actor_(v1::Actor::NewStub(channel)),
      events_(events) {}

WeightsPusher::~WeightsPusher() { Stop(); }

void WeightsPusher::Start() {
  thread_ = std::thread([this] { Run(); });
}

void WeightsPusher::Submit(std::shared_ptr<const WeightsPart> part) {
  std::lock_guard lock(mutex_);
  mailbox_[static_cast<size_t>(part->parameters.kind)] = std::move(part);
  filled_.notify_one();
}

std::shared_ptr<const WeightsPart> WeightsPusher::Take() {
  std::unique_lock lock(mutex_);
  const auto any = [this] {
    return std::find_if(mailbox_.begin(), mailbox_.end(),
                        [](const auto& p) { return p != nullptr; });
  };
  filled_.wait(lock, [&] { return stop_.stopped() || any() != mailbox_.end(); });
  if (stop_.stopped()) return nullptr;
  return std::exchange(*any(), nullptr);
}

void WeightsPusher::PutBack(std::shared_ptr<const WeightsPart> part) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<const WeightsPart>& place = mailbox_[static_cast<size_t>(part->parameters.kind)];
  if (place == nullptr) place = std::move(part);
}

bool WeightsPusher::Empty() {
  std::lock_guard lock(mutex_);
  return std::all_of(mailbox_.begin(), mailbox_.end(), [](const auto& p) { return p == nullptr; });
}

void WeightsPusher::Run() {
  Backoff backoff;
  uint64_t online_version = 0;
  while (std::shared_ptr<const WeightsPart> part = Take()) {
    absl::Status status = Push(*part);
    if (status.ok()) {
      backoff.Reset();
      if (part->parameters.kind == kernels::WeightsKind::kOnline) online_version = part->version;
      if (Empty()) events_.Push(WeightsLive{options_.actor, online_version});
      continue;
    }
    if (stop_.stopped()) return;
    if (status.code() == absl::StatusCode::kAborted) {
      spdlog::warn("{}", status.ToString());
      ReportBehind();
      continue;
    }
    if (!IsTransient(status) || status.code() == absl::StatusCode::kDataLoss ||
        status.code() == absl::StatusCode::kResourceExhausted) {
      events_.Push(ClientFailed{std::move(status)});
      return;
    }
    spdlog::warn("{}; pushing again", status.ToString());
    PutBack(std::move(part));
    if (!backoff.Wait(stop_)) return;
  }
}

void WeightsPusher::ReportBehind() {
  v1::GetInfoResponse info;
  grpc::ClientContext context;
  SetDeadline(context, kInfoDeadline);
  // When this fails too, the actor is going: its next stream brings the versions.
  if (!actor_->GetInfo(&context, v1::GetInfoRequest(), &info).ok()) return;
  for (const v1::PolicyInfo& policy : info.policies()) {
    if (policy.policy() == options_.policy) events_.Push(WeightsBehind{options_.actor, policy});
  }
}

absl::Status WeightsPusher::Push(const WeightsPart& part) {
  const std::string what = absl::StrCat("actor ", options_.address, ": push of ",
                                        std::string(kernels::WeightsKindName(part.parameters.kind)),
                                        " weights version ", part.version);
  grpc::ClientContext context;
  SetDeadline(context, kPushDeadline);
  // An actor that comes back gets its weights at once, not when the next attempt is due.
  context.set_wait_for_ready(true);
  {
    std::lock_guard lock(mutex_);
    if (stop_.stopped()) return absl::CancelledError("stopping");
    context_ = &context;
  }
  absl::Status status = Send(part, what, context);
  std::lock_guard lock(mutex_);
  context_ = nullptr;
  return status;
}

absl::Status WeightsPusher::Send(const WeightsPart& part, const std::string& what,
                                 grpc::ClientContext& context) {
  base::TensorFileWriter writer;
  kernels::WriteParameters(part.parameters, "", writer);
  VIXEN_ASSIGN_OR_RETURN(const std::string image, writer.Serialize());
  const std::string sha256 = Raw(kernels::ParametersSha256(part.parameters));

  v1::PushWeightsResponse response;
  const auto stream = weights_->PushWeights(&context, &response);
  v1::PushWeightsRequest request;
  v1::WeightsHeader& header = *request.mutable_header();
  header.set_policy(options_.policy);
  header.set_kind(codec::ToProto(part.parameters.kind));
  header.set_version(part.version);
  *header.mutable_architecture() = codec::ToProto(part.parameters.architecture);
  header.set_sha256(sha256);
  header.set_size(image.size());
  header.set_scaler_fingerprint(options_.scaler_fingerprint);
  header.set_training_step(part.training_step);
  if (part.parameters.kind == kernels::WeightsKind::kOnline) header.set_epsilon(part.epsilon);
  bool open = stream->Write(request);
  for (size_t at = 0; open && at < image.size(); at += kChunk) {
    request.set_chunk(image.substr(at, kChunk));
    open = stream->Write(request);
  }
  stream->WritesDone();
  VIXEN_RETURN_IF_ERROR(FromGrpc(stream->Finish(), what));

  if (response.sha256() != sha256) {
    return absl::DataLossError(absl::StrCat(
        what, ": the actor read back other parameters than were sent (SHA-256 differs)"));
  }
  const std::vector<float> answered(response.probe().begin(), response.probe().end());
  if (absl::Status probe =
          CheckProbe(ProbeOutputs(part.parameters), answered, response.precision());
      !probe.ok()) {
    return absl::DataLossError(absl::StrCat(what, ": ", probe.message()));
  }
  return absl::OkStatus();
}

void WeightsPusher::Stop() {
  stop_.Set();
  {
    std::lock_guard lock(mutex_);
    filled_.notify_all();
    if (context_ != nullptr) context_->TryCancel();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace vixen::learner
